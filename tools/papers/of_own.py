"""Questions of the same kind that are this program's: models/README.md says what they came to."""

import itertools
import math
import statistics

from drawing import choices, lines
from entries import HALVES, OUT, ROOT, accuracies, entry, judged, paid, percent, rounded
from stand_ins import OWN, behind, halves

EPSILONS = (0.1, 0.3, 1, 3)
CONFIGS = {"adult": "adult_lucid", "crypto": "crypto", "imdb": "imdb_lsa100"}
KS = [1, 2, 5, 10, 20, 50]


def config(name):
    return "--config", f"jobs/configs/{name}.toml"


@entry("own", "Tables")
def tables(here):
    first = {}
    for name, table in here.small(CONFIGS, {"crypto": "crypto"}).items():
        for members in here.small((1, 5, 25), (1, 5)):
            run = here.trained(here.table(table), {"ensemble.members": members, **here.small({}, {"certificate.levels": 5})},
                               *config(name))
            said = here.said("evaluate", "--run", run, "--data", here.table(table), "--epsilon", ",".join(map(str, EPSILONS)))
            setting = "ensemble" if members > 1 else "single"
            for mechanism, found in accuracies(said, setting).items():
                here.row(table=table, members=members, noise_free=said["accuracy"][setting], mechanism=mechanism,
                         **{f"eps {e:g}": a for e, a in zip(EPSILONS, found)})
            first[table, members] = accuracies(said, setting)
        here.draw(lines(table, "epsilon of an answer", "accuracy",
                        {f"{mechanism}, T = {members}": list(zip(EPSILONS, found[mechanism])) for (named, members),
                         found in first.items() if named == table
                                                                    for mechanism in ("stable_rr", "cauchy", "laplace_global"
                                                                        if members == 1 else "noisy_argmax")}, log=True))
    return judged(all(found["stable_rr"][0] >= max(found[name][0] for name in found
                                                   if name in ("cauchy", "laplace_global", "noisy_argmax"))
                                                   for found in first.values()),
                  "by distances an answer at epsilon .1 is right more often than by any noise for the worst case: " + ", ".join(
                      f"{table} of {members} {found['stable_rr'][0]:.3f}" for (table, members), found in first.items()),
                      stand_in=False)


@entry("own", "Precision")
def precisions(here):
    off = 0.0
    for name, table in {**here.small(CONFIGS, {}), "blobs": None}.items():
        if table:
            data = here.imported(table, "--scale", "*=0:1")
        else:
            data = here.made("synth", "blobs", "--centre", 1.25, "--spread", 0.35, "--records", 3000, "--test", 1000, "--seed",
                             1, "--out", OUT)
        for clip in ("elementwise", "factored"):
            for precision, bits in (("double", 16), ("single", 16), ("fixed", 16), ("fixed", 8)):
                run = here.trained(data, {"clip.kind": clip, "training.precision": precision, "training.activation_bits": bits,
                                          "certificate.level_list": [1, 5, 10, 50],
                                          **here.small({}, {"network.hidden": [16]})}, *config(name))
                accuracy, shares, _ = here.certified(run, data)
                here.row(table=name, clip=clip, precision=precision + f", {bits} bits" * (precision == "fixed"),
                         accuracy=accuracy,
                         **{f"k={k}": shares[k] for k in (1, 5, 10, 50)}, seconds=round(run.seconds, 2))
                if precision == "double":
                    exact = accuracy
                elif bits == 16:
                    off = max(off, abs(accuracy - exact))
    return judged(off <= 0.02, f"single and fixed precision of 16 bits have the accuracy of double within {off:.4f}",
                  stand_in=False)


@entry("own", "Votes")
def votes(here):
    best = []
    for table in here.small(("cifar10_10k", "mnist"), ("cifar10_10k",)):
        data = here.imported(table, "--source-scaling", "public")
        classes = len(data.answer["classes"]["train"])
        for members in here.small((50, 250), (25,)):
            for name, steps in (("no boxes", {"certificate.levels": 0, "training.epochs": here.small(20, 2),
                                              "training.learning_rate": 0.02, "clip.gamma": 1000,
                                              "network.loss": "cross_entropy"}),
                                ("one step with boxes", {"certificate.level_list": [1, 2, 3, 5], "training.epochs": 1,
                                                         "training.learning_rate": 0.5, "clip.gamma": 0.1,
                                                         "network.loss": "one_vs_rest"})):
                run = here.trained(data, {"network.hidden": [], "network.classes": classes, "network.input_shift": 0.5,
                                          "network.input_scale": 2,
                                          "training.expected_records": data.answer["rows"]["train"],
                                          "ensemble.members": members, **steps})
                said = here.said("evaluate", "--run", run, "--data", data, "--poisoning",
                                 *(() if steps.get("certificate.levels") == 0 else ("--epsilon", 1)))
                counted = said["poisoning"]
                for rule in counted["rules"]:
                    here.row(table=table, members=members, steps=name, nominal=said["accuracy"]["ensemble"], rule=rule["rule"],
                             **{f"records {k}": share for k, share in zip(counted["counts"], rule["certified_accuracy"])})
                here.draw(lines(f"{table}, {members} members, {name}", "poisoned records", "right on every dataset",
                                {rule["rule"]: list(zip(counted["counts"], rule["certified_accuracy"]))
                                 for rule in counted["rules"]}))
                rules = {rule["rule"]: rule["certified_accuracy"] for rule in counted["rules"]}
                best.append(all(more >= plain for kind in ("partition", "run_off") for plain,
                                more in zip(rules[kind], rules["boxes" if kind == "partition" else "run_off_boxes"])))
    return judged(all(best), "certificates of the members take nothing from a count of votes, and where there are boxes "
                  "they add to it")


def learning_rate(records, features, epsilon, delta, steps=100, most=50.0):
    """The rule of jobs/configs/private.toml: the noise of the first step has length 1 in the parameters."""
    def spent(mu):  # delta of mu-Gaussian differential privacy (Dong, Roth, Su 2022, corollary 2.13)
        below = [math.erfc(-x / math.sqrt(2)) / 2 for x in (mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu)]
        return below[0] - math.exp(epsilon) * below[1]

    low, high = 1e-9, 2 * math.sqrt(2 * epsilon) + 10
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if spent(middle) < delta else (low, middle)
    return min(most, records * low / math.sqrt(steps * (features + 1)))


def with_noise(here, table, configuration, settings, epsilon, runs):
    """Accuracies of so many models, whose noise differs."""
    data = here.imported(table)
    records = rounded(data.answer["rows"]["train"])
    own = settings(records, data.answer["features"])
    found = [here.with_noise(data, {"training.expected_records": records, "noise.epsilon": epsilon, "noise.delta": 1e-5, **own},
                             *config(configuration), number=run) for run in range(runs)]
    here.row(table=table, records=records, epsilon=epsilon, delta=1e-5, **own, accuracy=statistics.mean(found),
             lowest=min(found), highest=max(found), runs=runs)
    return statistics.mean(found)


@entry("own", "Linear")
def linear(here):
    curves = {}
    for table, centre in here.small({"adult_lucid": 0.25, "imdb_lsa100": 0.5, "crypto": 0.25, "credit_lucid": 0.25,
                                     "twitter": 0.25, "kdd99": 0.25}, {"crypto": 0.25}).items():
        for epsilon in (0.1, 0.3, 1):
            def settings(records, features, centre=centre, epsilon=epsilon):
                return {"training.learning_rate": float(f"{learning_rate(records, features, epsilon, 1e-5):.3g}"),
                        "network.input_shift": centre}

            curves.setdefault(table, []).append((epsilon, with_noise(here, table, "private", settings, epsilon,
                here.small(5, 1))))
            ours = here.rows[-1]
            others = {} if here.quick else here.said("python", ROOT / "tools/python/private_peers.py", here.table(table),
                                                     "--records", ours["records"], "--epsilon", epsilon, "--delta", 1e-5,
                                                     "--runs", 5, "--centre", centre, "--learning-rate",
                                                     ours["training.learning_rate"])
            for who, outcomes in others.items():
                found = [outcome["accuracy"] for outcome in outcomes]
                here.row(table=table, by=who, records=ours["records"], epsilon=epsilon, accuracy=statistics.mean(found),
                         lowest=min(found), highest=max(found), runs=5)
    here.draw(lines("linear models for anyone", "epsilon of the model", "accuracy", curves, log=True))
    fallen = [table for table, points in curves.items() if points[-1][1] < points[0][1] - 0.01]
    return judged(not fallen, "at epsilon .1 and 1: " + ", ".join(
        f"{table} {points[0][1]:.3f}, {points[-1][1]:.3f}" for table, points in curves.items()) + "; the "
        f"greater budget has less right by more than .01 on {', '.join(fallen)}" * bool(fallen), stand_in=False)


@entry("own", "Network")
def network(here):
    found = {epsilon: with_noise(here, "mnist", "private_mnist", lambda records,
                                 features: here.small({}, {"training.epochs": 1, "network.hidden": [8]}), epsilon, 1)
                                 for epsilon in here.small((1, 3), (3,))}
    return judged(max(found.values()) > here.small(0.9, 0.3), ", ".join(f"{percent(accuracy)} at epsilon {epsilon:g}"
        for epsilon, accuracy in found.items()), stand_in=False)


RADII = {"l2": (0.25, 0.5, 0.7, 1, 1.4), "linf": (0.0125, 0.025, 0.05, 0.1)}
ATTACKED = {"l2": (0.5, 1), "linf": (0.025, 0.1)}
# What a model learns, by which settings, and what certify is asked of it.
SCATTERED = {f"scattering, radius {radius:g}": ("private_scattering", "l2", {
    "training.learning_rate": 10, **({
        "robust.attack": "worst_case", "robust.norm": "l2", "robust.input_radius": radius} if radius else {})}, ())
    for radius in (0, 0.3, 0.7, 1)}
# The usual network of private MNIST (26010 parameters); rate, steps and centre of 50000 training images, the others asked.
CONVOLUTIONS = '["conv 16 8x8 stride 2 padding 3","max_pool 2x2 stride 1","conv 32 4x4 stride 2","max_pool 2x2 stride 1","dense 32"]'
SMOOTHED = {f"smoothed by {noise:g}": (None, "l2", {
    "network.layers": CONVOLUTIONS, "network.input_shift": 0.5, "network.input_scale": 2, "training.kind": "noisy",
    "training.precision": "single", "training.epochs": 16, "training.batches": 16, "training.learning_rate": 4,
    "clip.kind": "norm", "clip.norm_limit": 1, "noise.average": 0.3, "robust.noise": noise},
    ("--smoothing", noise, "--draws", 10000, "--service-key", (OUT, "/service.key"))) for noise in (0.25, 0.5)}
PIXELS = {f"pixels, radius {radius:g}": ("private_mnist", "linf", {
    "network.hidden": [], "network.input_shift": 0, "network.input_scale": 1, "training.epochs": 60, "training.batches": 1,
    "training.momentum": 0.9, "training.learning_rate": 1, "robust.attack": "worst_case", "robust.input_radius": radius},
    ()) for radius in (0.025, 0.05)}
# Of one radius of training there, and of what is as accurate without a move here.
PROTOTYPE = {(1, "scattering, radius 0.7"): (0.5, 0.753), (2, "scattering, radius 0.7"): (0.5, 0.761),
             (3, "scattering, radius 0.7"): (0.5, 0.768), (1, "smoothed by 0.5"): (0.5, 0.713),
             (2, "pixels, radius 0.05"): (0.025, 0.833)}  # on MNIST, tried by hand against the test records


def where_queries_move(here, data, few, way, epsilon, number, attacked):
    """{"clean", "certified at r", "attacked at r"}: certified of all test records, or if smoothed of few; attacked at few."""
    configuration, norm, settings, words = way
    classes = len(data.answer["classes"]["train"])
    records = rounded(data.answer["rows"]["train"])
    # Rates are of MNIST's records. Of a half of pneumoniamnist's training rows, 17 times fewer, 3 and 10 are as good where
    # MNIST wants 10, and .3 learns nothing: they fall with the root of the number.
    if rate := settings.get("training.learning_rate"):
        settings = {**settings, "training.learning_rate": float(f"{rate * math.sqrt(records / 60000):.3g}")}
    ledger, run, model = ((OUT, f"/{name}") for name in ("ledger.db", "run", "model.h5"))
    if "network.layers" in settings and epsilon > 1:  # at 1 half as many steps leave more certified
        settings = {**settings, "training.epochs": 32}
    own = {**settings, "network.classes": classes, "network.loss": "cross_entropy",
           "training.expected_records": records, "noise.epsilon": epsilon, "noise.delta": 1e-5,
           **here.small({}, {"training.epochs": 2})}
    channels = 3 if data.answer["features"] % 3 == 0 else 1
    side = math.isqrt(data.answer["features"] // channels)
    if "network.layers" in settings:
        own["network.image"] = [channels, side, side]
    elif configuration == "private_scattering" and channels == 3:
        own["features.image"] = [channels, side, side]

    def asked(radii, queries, *more):
        return ["certify", "--model", model, "--norm", norm, "--input-radius", ",".join(map(str, radii)), "--queries", queries, *more]
    attacks = ["--attack", "margin,pgd,apgd" if norm == "l2" else "pgd,apgd,square", "--attack-steps", here.small(20, 2),
               "--attack-restarts", 1]
    answers = here.steps(*paid(data, own, *(config(configuration) if configuration else ()), number=number),
                         ["publish", "--run", run, "--ledger", ledger, "--out", model],
                         asked(RADII[norm], few if words else (data, ":test"), *words),
                         *([asked(ATTACKED[norm], few, *attacks)] if attacked and not words else [])).answers
    return {"clean": answers[3]["clean"],
            **{f"certified at {row['radius']:g}": row["certified"] for row in answers[3]["radii"]},
            **{f"attacked at {row['radius']:g}": row["robust"] for answer in answers[4:] for row in answer["radii"]}}


def means_of(found):
    """({key: mean}, {"error of key": its standard error}) of rows that may lack some."""
    values = {key: [one[key] for one in found if key in one] for key in found[0]}
    return {key: statistics.mean(of) for key, of in values.items()}, {
        f"error of {key}": statistics.stdev(of) / math.sqrt(len(of)) for key, of in values.items() if len(of) > 1}


def robust(here, table, epsilons):
    data = here.imported(table, "--source-scaling", "public")
    some = here.steps(["python", HALVES, "first", here.table(table), 1, here.small(500, 20), (OUT, "/some.h5")])
    curves = {}  # of {model: points} by the norm and epsilon
    ways = {**SCATTERED, **PIXELS, **SMOOTHED}
    epsilons = here.small(epsilons, epsilons[-1:])
    for epsilon in epsilons:  # the first of the models of the least one are attacked
        for name in here.small(ways, ("scattering, radius 1", "pixels, radius 0.05", "smoothed by 0.5")):
            norm = ways[name][1]
            means, errors = means_of([where_queries_move(here, data, (some, "/some.h5:test"), ways[name], epsilon, number,
                                                         number == 0 and epsilon == epsilons[0])
                                      for number in range(here.small(3, 1))])
            here.row(table=table, epsilon=epsilon, delta=1e-5, model=name, **means, **errors)
            for kind, radii in (("certified", RADII[norm]), ("attacked", ATTACKED[norm])):
                if f"{kind} at {radii[0]:g}" in means:
                    curves.setdefault((norm, epsilon), {})[f"{name}, {kind}"] = [(0, means["clean"]), *(
                        (radius, means[f"{kind} at {radius:g}"]) for radius in radii)]
    for (norm, epsilon), series in curves.items():
        here.draw(lines(f"{table}, epsilon {epsilon:g}, {norm}", "how far a query moves", "right", series))
    return as_robust(here, table, data.answer["classes"]["test"].values())


def as_robust(here, table, of_class):
    """Not below the prototype, and at the greatest epsilon better than who always says the commonest class."""
    found = {(row["epsilon"], row["model"]): row for row in here.rows}
    compared = [(*cell, radius, found[cell][f"certified at {radius:g}"], said)
                for cell, (radius, said) in PROTOTYPE.items() if cell in found] if table == "mnist" and not here.quick else []
    least, best = f"certified at {RADII['l2'][0]:g}", {}
    for row in here.rows:
        best[row["epsilon"]] = max(best.get(row["epsilon"], 0), row.get(least, 0))
    commonest = max(of_class) / sum(of_class)
    return judged(all(ours >= said - 0.01 for *_, ours, said in compared) and best[max(best)] > commonest,
                  f"{least} in l2 and right, at best: " + ", ".join(
                      f"{share:.3f} at epsilon {epsilon:g}" for epsilon, share in best.items()) +
                  f", where the commonest class is {commonest:.3f}" + "".join(
                      f"; at epsilon {epsilon:g} within {radius:g} by {model} {ours:.3f}, a prototype {said:.3f}"
                      for epsilon, model, radius, ours, said in compared), stand_in=False)


for _item, _table, _epsilons in (("Robust MNIST", "mnist", (1, 2, 3)), ("Robust pneumonia", "pneumoniamnist", (1, 3)),
                                 ("Robust CIFAR", "cifar10_10k", (1, 3))):
    entry("own", _item)(lambda here, table=_table, epsilons=_epsilons: robust(here, table, epsilons))


@entry("own", "Routes")
def routes(here):
    records, epsilons = here.small((300, 1000, 3000, 10000, 30000), (300,)), here.small((0.01, 0.03, 0.1, 0.3, 1, 3), (0.1, 1))
    chosen = {"1": [], "100": [], "any": []}  # by the number of answers, which together cost so much
    for count in records:
        for found in chosen.values():
            found.append([])
        for epsilon in epsilons:
            said = here.said("advise", "--records", count, "--features", 20, "--classes", 2, "--epsilon", epsilon, "--delta", 1e-5)
            for answers, found in chosen.items():
                accuracy, kind, route = max((row["accuracy"].get(answers, 0), row["candidate"].split(",")[0], row["route"])
                                            for row in said["routes"])
                found[-1].append((kind, f"{accuracy:.2f}"))
                here.row(records=count, epsilon=epsilon, answers=answers, best=kind, by=route, accuracy=accuracy)
    for answers, found in chosen.items():
        here.draw(choices(f"{answers} answer{'s' * (answers != '1')}", "epsilon of all, at delta 1e-5", "records", epsilons, records,
                          found))
    leads = {answers: sorted({kind for row in found for kind, _ in row}) for answers, found in chosen.items()}
    return judged(len({kind for kinds in leads.values() for kind in kinds}) > 1, "no way is best everywhere: " + "; ".join(
        f"of {answers} answers {', '.join(kinds)} lead somewhere" for answers, kinds in leads.items()), stand_in=False)


GRIDS = {"pneumoniamnist": {"training.epochs": (1, 4), "training.batches": (1, 4), "training.learning_rate": (0.3, 1, 4, 16),
                            "clip.gamma": (0.1, 0.03, 0.01, 0.003)},
         "imdb_lsa100": {"training.epochs": (1, 2), "training.batches": (1, 4), "training.learning_rate": (16, 64, 256, 1024),
                         "clip.gamma": (0.02, 0.01, 0.005, 0.0025)}}
NEAR = 0.02  # of the best accuracy


@entry("own", "Settings")
def chosen(here):
    same, words = True, []
    for name, grid in here.small(GRIDS, {"imdb_lsa100": {**{key: values[-1:] for key, values in GRIDS["imdb_lsa100"].items()},
                                                         "clip.gamma": (0.02, 0.005)}}).items():
        parts, tried = halves(here, name), []
        rows = rounded(parts["stand_in"].answer["rows"]["train"])
        network = behind(here, name, parts["prefix"], "own")
        for values in itertools.product(*grid.values()):
            settings = dict(zip(grid, values))
            run = here.trained(parts["stand_in"], {**network, **settings, "training.expected_records": rows,
                                                   "certificate.level_list": KS})
            said = here.said("evaluate", "--run", run, "--data", parts["stand_in"], "--epsilon", 1, "--loss")
            right = {row["k"]: row["accuracy_worst"] for row in said["certified_loss"]["levels"]}
            tried.append((sum(right[k] for k in KS) / len(KS), said["accuracy"]["single"], settings))
            here.row(table=name, certified_and_right=tried[-1][0], accuracy=tried[-1][1], **settings)
        least = max(accuracy for _, accuracy, _ in tried) - NEAR
        score, accuracy, best = max((one for one in tried if one[1] >= least), key=lambda one: one[0])
        same &= {key: OWN[name][key] for key in best} == best
        words.append(f"{name} {' '.join(f'{key} {value}' for key, value in best.items())} ({score:.4f}, accuracy {accuracy:.4f})")
    return judged(same, "these are the settings called own: " * same + "; ".join(words), stand_in=False)
