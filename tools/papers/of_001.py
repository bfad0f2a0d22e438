"""Guarding the privacy of label-only access to neural network classifiers via iDP verification."""

import math
import random

from drawing import cells, lines
from entries import OUT, entry, judged, percent, rounded, sets

PLAIN = {"network.loss": "cross_entropy", "training.epochs": 50, "training.learning_rate": 0.1, "training.l2": 1e-5,
         "training.precision": "single"}
SHAPES = {"2x50": [50, 50], "2x100": [100, 100], "4x30": [30, 30, 30, 30]}
COLUMNS = {"adult_lucid": 21, "credit_lucid": 23}
EPSILONS = (0.2, 1)
# Accuracy %; Table 1: bounds, hours, accuracy at epsilon 0, .2, 1, access in ms; Table 2: Naive-Noise at the same, Naive-iDP, its
# access in s; Table 3: DP-SGD and ALIBI at .02, .2, 1.
PUBLISHED = {
    ("crypto", "2x50"): (99.7, (1.78, 2.95), (0.1, 0.07), (97.3, 97.3, 98.0), 0.1, (49.9, 52.3, 62.1), (99.4, 99.4, 99.5), 3,
                         (49.8, 96.6, 96.6), (48.5, 48.5, 92.8)),
    ("crypto", "2x100"): (99.7, (2.02, 2.86), (1.1, 1.0), (97.1, 97.5, 97.8), 0.2, (50.1, 52.7, 62.1), (99.3, 99.2, 99.3), 4,
                          (49.3, 96.5, 96.6), (80.8, 96.7, 96.9)),
    ("crypto", "4x30"): (99.8, (4.23, 6.12), (0.1, 0.1), (94.7, 95.0, 95.5), 0.2, (50.0, 52.4, 62.0), (99.7, 99.7, 99.7), 4,
                         (34.5, 49.3, 49.3), (49.3, 49.3, 95.6)),
    ("twitter", "2x50"): (89.7, (0.51, 0.54), (1.6, 3.7), (89.3, 89.3, 89.4), 0.1, (49.9, 51.9, 59.6), (89.5, 89.5, 89.6), 43,
                          (51.9, 51.4, 51.5), (51.4, 51.4, 87.6)),
    ("twitter", "2x100"): (89.6, (0.86, 0.96), (4.9, 5.5), (88.1, 88.2, 88.5), 0.2, (50.1, 52.2, 59.9), (89.3, 89.4, 89.4), 52,
                           (47.5, 53.2, 52.4), (51.4, 52.6, 87.6)),
    ("adult_lucid", "2x50"): (83.1, (0.55, 0.63), (2.9, 3.0), (82.4, 82.4, 82.5), 0.1, (49.9, 51.7, 58.2), (83.1, 82.9, 83.1),
                              32, (23.6, 76.3, 76.3), (67.4, 77.4, 82.2)),
    ("adult_lucid", "2x100"): (83.3, (0.93, 0.91), (4.3, 4.1), (80.7, 80.8, 81.0), 0.1, (49.9, 51.7, 58.9), (83.2, 83.1, 83.3),
                               34, (76.3, 76.4, 76.4), (61.5, 75.3, 81.9)),
    ("adult_lucid", "conv"): (79.2, (0.29, 0.52), (0.2, 0.1), (80.1, 80.1, 80.0), 0.2, (49.9, 51.4, 57.2), (79.2, 79.5, 79.5),
                              40, (46.2, 76.4, 76.4), (23.6, 74.6, 76.4)),
    ("credit_lucid", "2x50"): (81.9, (0.33, 0.34), (5.8, 6.5), (81.7, 81.8, 81.8), 0.1, (50.1, 51.6, 57.7), (81.8, 81.9, 81.9),
                               19, (26.2, 78.4, 78.5), (78.4, 78.4, 78.6)),
    ("credit_lucid", "2x100"): (81.8, (0.42, 0.44), (4.4, 3.1), (81.4, 81.4, 81.5), 0.2, (50.1, 51.6, 57.9), (81.7, 81.7, 81.8),
                                21, (71.8, 78.5, 78.5), (63.7, 73.1, 79.9)),
    ("credit_lucid", "conv"): (80.8, (0.75, 0.57), (0.3, 0.2), (79.9, 80.1, 80.3), 0.3, (49.9, 51.6, 57.5), (80.9, 80.7, 80.7),
                               26, (25.2, 78.4, 78.5), (78.4, 78.4, 78.4)),
}
ABLATION = {"twitter": {"naive": "no bound in 8 h a class", "H": "1.62 and 1.49 in 8 and 8 h",
                        "HM": "1.22 and 1.20 in .18 and .38 h", "HMRiS":
                        "1.25 and 1.26 in .17 and .11 h", "HMB": ".46 and .43 in 4.56 and 5.26 h",
                        "LUCID": ".51 and .46 in 1.16 and 2.81 h"},
            "adult_lucid": {"naive": "no bound in 8 h a class", "H": ".96 and .58 in 8 and 7.5 h",
                            "HM": ".86 and .58 in .04 and .04 h", "HMRiS":
                            ".87 and .58 in .03 and .04 h", "HMB": ".33 and .24 in 1.65 and 4.05 h",
                            "LUCID": ".40 and .36 in .76 and .81 h"}}


def network(shape, columns):
    if shape == "conv":
        return {"network.layers": ["conv 4 1x3", "conv 4 1x3"], "network.image": [1, 1, columns], "clip.gamma": 1000}
    return {"network.hidden": SHAPES[shape], "clip.kind": "none"}


def fleet_of(here, table, shape):
    data = here.imported(table, "--source-scaling", "public")
    rows = data.answer["rows"]["train"]
    sample = here.small(None if table == "crypto" else 200, 20)
    settings = {**PLAIN, **network(shape, COLUMNS.get(table)), "training.expected_records": rows,
                "training.batches": max(1, round(rows / (100 if table == "crypto" else 1024))),
                "training.epochs": here.small(50, 2)}
    return here.trained(data, settings, *(["--records", sample] if sample else []), command="fleet"), data


def bounded(here, table, shape, seconds):
    """(fleet, data, what idp said, what evaluate said)"""
    run, data = fleet_of(here, table, shape)
    found = here.steps(["idp", "--run", run, "--seconds", seconds], ["evaluate", "--run", run, "--data", data, "--epsilon",
        "0.2,1"])
    return run, data, *found.answers, found


def interval(one):
    return f"[{one['lower']:.4f}, {one['upper']:.4f}]"


def networks(here):
    return here.small(list(PUBLISHED), [("crypto", "2x50"), ("adult_lucid", "conv")])


def rules_of(said):
    """{rule: accuracy at epsilon 0, .2, 1}: as published, a class by the exponential mechanism where the rule does not answer."""
    found = {rule["rule"]: [rule["accuracy"]] for rule in said["rules"]}
    for row in said["private_accuracy"]:
        if row["mechanism"] == "idp_exponential":
            found[row["setting"]] += row["accuracy"]
    return found


@entry("001", "Figure 1")
def plane(here):
    draws, side = random.Random(7), here.small(40, 12)
    points = [(number % 2, draws.gauss(0.35 + 0.3 * (number % 2), 0.1), draws.gauss(0.35 + 0.3 * (number % 2), 0.1))
              for number in range(here.small(7000, 1000))]
    csv = here.file("id,x1,x2,y\n" + "".join(f"{place},{x:.6f},{y:.6f},{label}\n" for place,
                                             (label, x, y) in enumerate(points)))
    data = here.made("import", csv, "--format", "csv", "--id", "id", "--label", "y", "--scale", "*=0:1", "--population",
                     "plane", "--expected-records", len(points), "--out", OUT)
    run = here.trained(data, {**PLAIN, "network.hidden": [here.small(50, 8)], "clip.kind": "none",
                              "training.batches": max(1, len(points) // 1000),
                              "training.epochs": here.small(50, 5)}, "--records", here.small(200, 20), command="fleet")
    at = [(place + 0.5) / side for place in range(side)]
    grid = here.made("import", here.file("x1,x2\n" + "".join(f"{x},{y}\n" for y in at for x in at)), "--format", "csv",
                     "--no-labels", "--scale", "*=0:1", "--out", OUT)
    found = here.steps(["idp", "--run", run, "--seconds", here.small(60, 1)],
                       ["influence", "--run", run, "--queries", (grid, ":train")],
                       ["python", "-c", READ_QUERIES, (run, "/influence_queries.csv")])
    upper = [one["upper"] for one in found.answers[0]["classes"]]
    above = [lead > upper[label] for label, lead, _ in found.answer]
    alike = [against == 0 for _, _, against in found.answer]
    here.row(points=len(points), bound_0=upper[0], bound_1=upper[1], above_the_bound=sum(above) / len(above),
             all_networks_agree=sum(alike) / len(alike))
    shown = [[(above[r * side + c] + alike[r * side + c]) / 2 for c in range(side)] for r in range(side)]
    here.draw(cells("the plane by the bound", "x1", "x2", (0, 1), shown, 1, "networks",
                    {1: "agree, above the bound", 0.5: "agree, below it", 0: "some do not"}))
    return judged(sum(above) > 0.5 * len(above) and all(ok for over, ok in zip(above, alike) if over),
                  f"{percent(sum(above) / len(above))} of the square lie above the bound, in "
                  f"{percent(sum(alike) / len(alike))} all networks agree")


READ_QUERIES = ("import csv, json, sys; print(json.dumps([[int(row['label']), float(row['lead']), "
                "int(row['networks_against'])] "
                "for row in csv.DictReader(open(sys.argv[1]))]))")


@entry("001", "Table 1")
def with_bounds(here):
    losses = []
    for table, shape in networks(here):
        accuracy, bound, hours, by_bound, access, *_ = PUBLISHED[table, shape]
        for seconds in here.small((10, 60), (1,)):
            run, data, idp, said, found = bounded(here, table, shape, seconds)
            found_by = rules_of(said)["bound"]
            here.row(table=table, network=shape, networks=said["networks"], unprotected=percent(said["accuracy"]["single"]),
                     published_unprotected=f"{accuracy}%",
                     seconds_a_class=seconds, bound_0=interval(idp["classes"][0]), bound_1=interval(idp["classes"][1]),
                     published_bounds=f"{bound[0]}, {bound[1]}",
                     processor_seconds_training=round(run.seconds, 1), processor_seconds=round(found.known()["spent"], 1),
                     published_hours=f"{hours[0]}, {hours[1]}",
                     **{f"eps {e}": percent(a) for e, a in zip((0, *EPSILONS), found_by)},
                     published_accuracies=" ".join(f"{a}%" for a in by_bound),
                     ms=access_time(here, run, data) if table == "crypto" and not here.quick else "", published_ms=access)
        losses.append(said["accuracy"]["single"] - found_by[0])
    mean = sum(losses) / len(losses)
    return judged(mean <= 0.02, f"at epsilon 0 the answers by the bound lose {percent(mean)} of accuracy on average over "
                  f"{len(losses)} networks (1.4% published); what "
                  "they claim is Theorem 6.1")


def access_time(here, run, data, rule="bound"):
    """Milliseconds of an answer of holdfast access."""
    taken = []
    for count in (1, 1000):
        ledger = (OUT, "/ledger.db")
        taken.append(here.steps(["account", "--ledger", ledger, "--data", data, "--budget", 100000],
                                ["access", "--run", run, "--queries", data, "--ledger", ledger, "--epsilon", 1, "--rule", rule,
                                 "--law", "idp_exponential",
                                 "--queries-are-public", "--first", count]).seconds)
    return round(1000 * (taken[1] - taken[0]) / 999, 3)


@entry("001", "Table 2")
def naive(here):
    worst = 0.0
    for table, shape in networks(here):
        *_, noise, vote, access, _, _ = PUBLISHED[table, shape]
        run, data, _, said, _ = bounded(here, table, shape, here.small(60, 1))
        unprotected, found = said["accuracy"]["single"], rules_of(said)["vote"]
        kept = {e: math.exp(e / 2) / (1 + math.exp(e / 2)) for e in (0, *EPSILONS)}
        here.row(table=table, network=shape, unprotected=percent(unprotected),
                 **{f"noise eps {e}": percent(unprotected * p + (1 - unprotected) * (1 - p)) for e, p in kept.items()},
                 published_noise=" ".join(f"{a}%" for a in noise),
                 **{f"vote eps {e}": percent(a) for e, a in zip((0, *EPSILONS), found)},
                 published_vote=" ".join(f"{a}%" for a in vote),
                 ms=access_time(here, run, data, "vote") if table == "crypto" and not here.quick else "", published_s=access)
        worst = max(worst, unprotected - found[0])
    return judged(worst < 0.01, f"asking every network loses at most {percent(worst)} at epsilon 0; by the exponential "
                  f"mechanism two classes keep the label with .5, .525, .622")


def of_drawn_labels(here, data, settings, epsilon):
    """Accuracy of what learns from labels that were drawn once, which an account of labels pays for."""
    ledger, drawn, run = (OUT, "/ledger.db"), (OUT, "/drawn.h5"), (OUT, "/run")
    return here.steps(["account", "--ledger", ledger, "--data", data, "--budget", epsilon, "--relation", "label"],
                      ["measure", "--data", data, "--ledger", ledger, "--labels", "response", "--epsilon", epsilon, "--out",
                       drawn],
                      ["train", "--data", drawn, "--out", run, *sets({**settings, "noise.law": "none",
                                                                      "training.momentum": 0.9})],
                      ["evaluate", "--run", run, "--data", data]).answer["accuracy"]["single"]


@entry("001", "Table 3")
def with_noise(here):
    lost = {"DP-SGD": [], "drawn labels": []}
    for table, shape in networks(here):
        accuracy, *published = PUBLISHED[table, shape]
        data = here.imported(table, "--source-scaling", "public")
        rows = data.answer["rows"]["train"]
        settings = {"training.kind": "noisy", **{key: PLAIN[key] for key in ("network.loss", "training.learning_rate")},
                    **network(shape, COLUMNS.get(table)), "training.epochs": here.small(50, 2), "clip.kind": "norm",
                    "clip.gamma": 1, "training.batches": 1 << max(0, round(math.log2(rows / (100 if table == "crypto" else 1024)))),
                    "training.expected_records": rounded(rows)}
        for way, figures in zip(lost, published[-2:]):
            before, found = here.spent(), {}
            for epsilon in (0.02, *EPSILONS):
                found[epsilon] = (here.with_noise(data, {**settings, "noise.epsilon": epsilon}) if way == "DP-SGD" else
                                  of_drawn_labels(here, data, settings, epsilon))
            here.row(table=table, network=shape, way=way, **{f"eps {e}": percent(a) for e, a in found.items()},
                     published=" ".join(f"{a}%" for a in figures), published_unprotected=f"{accuracy}%",
                     seconds=round((here.spent() - before) / len(found), 1))
            lost[way].append([accuracy / 100 - a for a in found.values()])
    mean = {way: [sum(one) / len(one) for one in zip(*each)] for way, each in lost.items()}
    return judged(min(found[-1] for found in mean.values()) > 0.011, "below the published unprotected accuracies on average at "
                  "epsilon .02, .2, 1: " + "; ".join(f"{way} {', '.join(map(percent, found))}" for way, found in mean.items())
                  + " (published 42.3%, 14.2%, 14.3% and 28.6%, 19.3%, 2.7%; answers by the bound 1.1%); linear models with "
                  "noise do better (own Linear)")


@entry("001", "Table 4")
def ablation(here):
    best, tightest = [], []
    for table, shape in here.small([("crypto", "2x50"), ("twitter", "2x50"), ("adult_lucid", "conv")], networks(here)):
        run, _ = fleet_of(here, table, shape)
        variants = here.said("bench", "idp", "--run", run, "--seconds", here.small(10, 0.5))["variants"]
        for variant in variants:
            here.row(table=table, network=shape, variant=variant["variant"], bound_0=interval(variant["classes"][0]),
                     bound_1=interval(variant["classes"][1]),
                     seconds=round(sum(one["seconds"] for one in variant["classes"]), 1))
        sizes = {variant["variant"]: sum(one["upper"] for one in variant["classes"]) for variant in variants}
        least = min(sizes.values())
        tightest.append(next(name for name, size in sizes.items() if size == least).startswith("all"))
        best.append(f"{table} {shape}: least by {next(name for name, size in sizes.items() if size == least)} ({least:.3f} in "
                    f"all), most {max(sizes.values()):.3f}")
    for table, shown in ABLATION.items():
        for name, figures in shown.items():
            here.row(table=table, network="2x50" if table == "twitter" else "conv", variant=f"published {name}",
                     bound_0=figures)
    return judged(all(tightest), "; ".join(best))


@entry("001", "Figure 6")
def confidences(here):
    run, data = fleet_of(here, *here.small(("twitter", "2x50"), ("crypto", "2x50")))
    found = here.steps(["idp", "--run", run, "--seconds", here.small(60, 1)], ["influence", "--run", run, "--queries", data],
                       ["python", "-c", READ_QUERIES, (run, "/influence_queries.csv")])
    above = 0
    for label, one in enumerate(found.answers[0]["classes"]):
        leads = sorted(lead for named, lead, _ in found.answer if named == label)
        above += sum(lead > one["upper"] for lead in leads)
        thin = max(1, len(leads) // 200)
        here.draw(lines(f"label {label}", "test records, in order of confidence", "confidence",
                        {"confidence": list(enumerate(leads))[::thin], "bound": [
            (0, one["upper"]), (len(leads), one["upper"])]}))
        here.row(label=label, records=len(leads), bound=one["upper"], above=sum(lead > one["upper"] for lead in leads))
    return judged(above > 0.5 * len(found.answer), f"{percent(above / len(found.answer))} of the test records are above the "
                  f"bound of their label")
