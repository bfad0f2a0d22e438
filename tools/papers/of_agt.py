"""The package of 000 and 004 (psosnin/AbstractGradientTraining at f409c6e, v0.3), by its notebooks and beside this program."""

from drawing import lines
from entries import entry, judged, rounded
from stand_ins import fine_tuned

KS = [1, 5, 10, 50]
PACKAGE = {"certificate.relation": "substitute", "certificate.budget": "per_batch", "certificate.product": "rump",
           "training.batching": "sequential", "training.normalise": "actual"}


@entry("AGT", "Boxes")
def boxes(here):
    worse = []
    for table in here.small(("adult_lucid", "crypto", "imdb_lsa100"), ("crypto",)):
        records = here.records(here.table(table))
        steps = {"network.hidden": [], "network.input_shift": 0.5, "network.input_scale": 2, "training.epochs": 2,
                 "training.learning_rate": 4, "clip.gamma": 0.03,
                 "training.batches": 4, "training.expected_records": records, "certificate.level_list": KS}
        found = {}
        for name, more in (("as the package", {**PACKAGE, "training.batch_size": records // 4}),
                           ("substitute, per_batch, exact", {"certificate.relation": "substitute",
                                                             "certificate.budget": "per_batch"}),
                           ("substitute, both budgets", {"certificate.relation": "substitute", "certificate.budget": "both"}),
                           ("default (add_remove, per_epoch)", {})):
            run = here.trained(here.table(table), {**steps, **more})
            accuracy, shares, _ = here.certified(run, here.table(table))
            found[name] = {k: shares[k] for k in KS}
            here.row(table=table, boxes=name, accuracy=accuracy, **{f"k={k}": share for k, share in found[name].items()},
                     seconds=round(run.seconds, 2))
        here.draw(lines(table, "changed records", "certified", {name: list(shares.items()) for name, shares in found.items()},
                        log=True, ends=(0, 1)))
        worse += [table for k in KS if found["substitute, both budgets"][k] < found["as the package"][k] - 0.01]
    return judged(not worse, "both budgets certify at least what the package's way does" +
                  f", but on {', '.join(worse)}" * bool(worse), stand_in=False)


@entry("AGT", "OCT MNIST")
def films(here):
    notebook = {"training__epochs": 3, "training__learning_rate": 0.1, "training__learning_rate_decay": 2, "training__l2": 0.01,
                "training__momentum": 0.9, "training__nesterov": True,
                "training__learning_rate_floor": 0.001}
    found = {}
    for name, way, changed in (("notebook", "as printed", notebook), ("own", "own", {})):
        run, data = fine_tuned(here, "pneumoniamnist", way, "add_remove", None, **changed)
        said = here.said("evaluate", "--run", run, "--data", data, "--epsilon", 1, "--loss")
        level = next(row for row in said["certified_loss"]["levels"] if row["k"] == here.small(10, 5))
        private = {row["mechanism"]: row["accuracy"][0] for row in said["private_accuracy"] if row["setting"] == "single"
                   and row["delta"] == 0}
        found[name] = private["laplace_global"], private["cauchy"], private["stable_rr"]
        here.row(settings=name, k=level["k"], worst=level["accuracy_worst"], accuracy=said["accuracy"]["single"],
                 best=level["accuracy_best"], **{
            "global, epsilon 1": found[name][0], "smooth, epsilon 1": found[name][1], "stable_rr, epsilon 1": found[name][2]})
    here.row(settings="published", k=10, worst=0.80, accuracy=0.86, best=0.91,
             **{"global, epsilon 1": 0.65, "smooth, epsilon 1": 0.86})
    return judged(any(smooth > bound for bound, smooth, _ in found.values()),
                  "answers at epsilon 1 by global, by smooth sensitivity and by stable_rr: " + "; ".join(
        f"{name} " + ", ".join(f"{value:.3f}" for value in values) for name, values in found.items()))


@entry("AGT", "MNIST")
def flips(here):
    data = here.imported("mnist", "--source-scaling", "public")
    ks, found = here.small([10, 25, 50, 100], [10]), {}
    for clip in here.small((1000, 0.2, 0.1), (1000, 0.1)):
        run = here.trained(data, {"network.hidden": [], "network.classes": 10, "training.epochs": 2,
                                  "training.learning_rate": 5, "training.learning_rate_decay": 1,
                                  "training.learning_rate_floor": 0.001, "training.expected_records": 60000, "clip.gamma": clip,
                                  "training.precision": "single",
                                  "certificate.relation": "poison", "certificate.budget": "per_batch", "poison.labels": "flip",
                                  "certificate.level_list": ks})
        said = here.said("evaluate", "--run", run, "--data", data, "--epsilon", 1, "--loss")
        found[clip] = {row["k"]: row["accuracy_worst"] for row in said["certified_loss"]["levels"]}, said["accuracy"]["single"]
        here.row(clip="none" if clip == 1000 else clip, accuracy=found[clip][1], **{f"certified right k={k}": found[clip][0][k]
            for k in ks})
    here.draw(lines("certified accuracy under label flips", "flips", "of test records",
                    {f"clip {'none' if clip == 1000 else clip}": [(k, shares[k]) for k in ks] for clip,
                     (shares, _) in found.items()}, ends=(0, 1)))
    last = {clip: shares[ks[-1]] for clip, (shares, _) in found.items()}
    return judged(max(share for clip, share in last.items() if clip < 1000) > last[1000],
                  f"certified right at {ks[-1]} flips: " + ", ".join(f"clip {'none' if clip == 1000 else clip} {share:.3f}"
                      for clip, share in last.items()))


@entry("AGT", "UCI")
def regression(here):
    data = here.imported("casp", "--source-scaling", "public", "--regression", "--target-range", "0:21")
    rows = data.answer["rows"]["train"]
    run = here.trained(data, {"network.hidden": [64], "network.classes": 1, "training.epochs": 1,
                              "training.learning_rate": 0.005, "training.batching": "sequential", "training.batch_size": 400,
                              "training.batches": 103, "training.normalise": "actual", "certificate.budget": "per_batch",
                              "clip.gamma": 1000, "training.expected_records": rounded(rows),
                              "certificate.relation": "poison", "poison.input_radius": 0.01, "certificate.level_list": [4]})
    said = here.said("evaluate", "--run", run, "--data", data, "--loss")
    level = next(row for row in said["certified_loss"]["levels"] if row["k"] == 4)
    for name, found in (("here", [level[key] for key in ("nominal", "best", "worst")]), ("published", (0.02631, 0.0, 1.473))):
        here.row(of=name, **{"mean squared error": found[0], "at least": found[1], "at most": found[2]})
    return judged(level["worst"] < 1.473, f"mean squared error {level['nominal']:.4f}, certified from {level['best']:.4f} to "
                  f"{level['worst']:.4f}")
