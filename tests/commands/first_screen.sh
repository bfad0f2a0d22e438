#!/usr/bin/env bash
# first_screen.sh HOLDFAST: what a reader sees of a report and of a statement without scrolling, in a browser without a
# screen, at 1280 x 800 and as on a phone, light and dark: how good, how private, of whom, spent and left, what next; nothing
# is cut off or wider than the window. Skipped where there is no Chromium (Debian: chromium; HOLDFAST_BROWSER names another).
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"
browser=${HOLDFAST_BROWSER:-$(command -v chromium chromium-browser google-chrome | head -n 1)}
[ -n "$browser" ] || { echo "SKIPPED: no Chromium here (apt-get install chromium)"; exit 77; }

# 1. A published model of a table, a run of boxes and a fleet, asked and not asked; their ledgers.
long=$scratch/a-folder-of-a-long-name-that-a-command-must-hold-whole
mkdir "$long"
make() { "$holdfast" "$@" --quiet > out.txt 2> err.txt || { fail "$* : $(cat err.txt)"; exit 1; }; }
make synth blobs --records 600 --test 200 --population ward-7 --seed 5 --centre 1.25 --spread 0.35 --out "$long/blobs.h5"
make account --ledger "$long/ward.ledger" --data "$long/blobs.h5" --budget 2 --budget-delta 1e-5
make train --data "$long/blobs.h5" --out "$long/noisy" --ledger "$long/ward.ledger" --set training.kind=noisy --set noise.epsilon=1 \
    --set clip.kind=norm --set 'network.hidden=[]' --set training.batches=1 --set training.epochs=20
make report "$long/noisy" --out bare.html
make evaluate --run "$long/noisy" --data "$long/blobs.h5:test"
make publish --run "$long/noisy" --ledger "$long/ward.ledger" --out "$long/noisy-model.h5"
make report "$long/noisy" --out noisy.html --ledger "$long/ward.ledger"
make train --data "$long/blobs.h5" --out "$long/run" --set ensemble.members=3 --set certificate.levels=5 --set training.epochs=1
make evaluate --run "$long/run" --data "$long/blobs.h5:test" --epsilon 0.1,1 --budget 1,1e-5
make report "$long/run" --out boxes.html
make synth blobs --records 30 --test 20 --population few --seed 3 --out few.h5
make fleet --data few.h5 --out fleet --set 'network.hidden=[4]' --set clip.kind=none
make evaluate --run fleet --data few.h5:test --epsilon 1
make report fleet --out fleet.html
make statement --ledger "$long/ward.ledger" --html statement.html
"$holdfast" report "$long/run" --ledger none.ledger > out.txt 2> err.txt && fail "a report by a ledger that is not there"

# 2. Each page says of itself what its reader sees.
cat > seen.js << 'END'
addEventListener('load', () => {
  const light = colour => { const [r, g, b] = colour.match(/[0-9.]+/g).map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
                            return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = e => { for (; e; e = e.parentElement) { const b = getComputedStyle(e).backgroundColor; if (!/, 0\)$/.test(b)) return b; } return 'rgb(255, 255, 255)'; };
  const contrast = e => { const [low, high] = [light(getComputedStyle(e).color), light(behind(e))].sort((a, b) => a - b); return (high + 0.05) / (low + 0.05); };
  const all = [...document.querySelectorAll('.summary')[0].querySelectorAll('*')];
  const box = e => e.getBoundingClientRect();
  const seen = {page: location.pathname.match(/([a-z]+)-seen.html$/)[1], wide: document.documentElement.scrollWidth, window: innerWidth, lightness: light(behind(document.body)),
    out: all.filter(e => box(e).top < 0 || box(e).bottom > innerHeight || box(e).left < 0 || box(e).right > innerWidth).map(e => e.textContent),
    cut: [...document.querySelectorAll('main *')].filter(e => getComputedStyle(e).overflowX !== 'visible' && !e.matches('.wide') && e.scrollWidth > e.clientWidth + 1).map(e => e.className),
    faint: all.filter(e => contrast(e) < 4.5).map(e => e.textContent), lines: {}};
  let question;
  for (const e of document.querySelectorAll('.summary')[0].children) if (e.tagName === 'DT') question = e.textContent; else seen.lines[question] = e.textContent;
  parent.postMessage(encodeURIComponent(JSON.stringify(seen)), '*');
});
END
# All pages in one, in frames of these sizes: a window is never narrower than 500.
sizes=('1280 800' '390 844')
pages=(bare noisy boxes fleet statement)
{
    printf '<!doctype html><body style="margin:0"><script>const all = {};
addEventListener("message", e => { const seen = JSON.parse(decodeURIComponent(e.data)); all[`${seen.page} ${seen.window}`] = seen;
  if (Object.keys(all).length == %d) document.body.innerHTML = "<pre id=seen>" + encodeURIComponent(JSON.stringify(all)) + "</pre>"; });</script>\n' \
        $((${#sizes[@]} * ${#pages[@]}))
    for page in "${pages[@]}"; do
        { cat "$page.html"; printf '<script>\n'; cat seen.js; printf '</script>\n'; } > "$page-seen.html"
        for size in "${sizes[@]}"; do
            printf '<iframe src="%s-seen.html" style="border:0;width:%spx;height:%spx"></iframe>\n' "$page" $size
        done
    done
} > frames.html
for scheme in light dark; do
    "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$scratch/browser" --window-size=1400,1000 \
        --blink-settings=preferredColorScheme=$([ $scheme = dark ] && echo 0 || echo 1) --virtual-time-budget=2000 \
        --dump-dom "file://$scratch/frames.html" > $scheme.txt 2> /dev/null
done
cat > look.py << 'END'
import json, re, sys, urllib.parse
page, wanted = sys.argv[1], sys.argv[2:]
for scheme in ("light", "dark"):
    found = re.search(r'<pre id="seen">([^<]*)</pre>', open(f"{scheme}.txt").read())
    assert found, f"{scheme}: the browser does not show every page"
    for width in (1280, 390):
        where = f"{page} at {width}, {scheme}"
        seen = json.loads(urllib.parse.unquote(found[1])).get(f"{page} {width}")
        assert seen, f"{where}: no window is so wide"
        assert seen["wide"] <= width, f"{where}: {seen['wide']} wide"
        assert (seen["lightness"] < 0.1) == (scheme == "dark"), f"{where}: a background of lightness {seen['lightness']}"
        for fault in ("out", "cut", "faint"):
            assert not seen[fault], f"{where}: {fault}: {seen[fault]}"
        assert list(seen["lines"]) == ["How good", "How private", "Of whom", "Spent and left", "What next"], f"{where}: {seen['lines']}"
        text = " | ".join(f"{question}: {answer}" for question, answer in seen["lines"].items())
        for words in wanted:
            assert re.search(words, text), f"{where}: no '{words}' in {text}"
END
# shows PAGE WORDS…: the first screen has these, in every window.
shows() { python3 look.py "$@" 2> err.txt || fail "$(tail -n 1 err.txt)"; }
shows bare 'How good: Not measured' 'evaluate --run \S*noisy --data \S*blobs.h5:test'
shows noisy 'How good: [0-9.]+% of 200 answers are right \(' 'Majority class \(baseline\): 50.0%' 'up to a factor of 2.72 and a chance of 1 in 100.000' 'proved' \
    '600 records trained on: one of each person; population ward-7' 'epsilon 1 of 2 and delta 1e-05 of 1e-05 spent; left: epsilon 1\.' 'predict --model \S*noisy-model.h5 NEW.csv --out answers.csv'
shows boxes '% of 200 answers are right .*without privacy' 'stay the same whichever [0-9]+ records are added or left out' 'account --ledger \S+ --data \S*blobs.h5 --budget 1'
shows fleet 'Majority class' 'stay the same whichever one record is left out' 'idp --run fleet'
shows statement 'How good: Not released' 'Released: 1 model, 0 answers' 'left: epsilon 1' 'account --ledger LEDGER --check --head [0-9a-f]{64}'

((failures == 0)) && echo "the first screen says what a reader decides by"
exit $((failures > 0))
