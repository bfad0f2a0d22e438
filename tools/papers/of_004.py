"""Certificates of differential privacy and unlearning for gradient-based training."""

import of_000
from drawing import cells, lines
from entries import FALSE, OUT, entry, judged, percent
from stand_ins import CLUSTERS, blobs, fine_tuned, map_of

RELATIONS = {"add_remove": "privacy", "remove": "unlearning"}


@entry("004", "Figure 1")
def regions(here):
    side, found = here.small(40, 10), {}
    for kind in CLUSTERS:
        data = blobs(here, kind, here.small(3000, 600))
        for clip in (0.06, 0.02):
            for relation, guarantee in RELATIONS.items():
                run = here.trained(data, {"network.hidden": [here.small(512, 16)], "training.epochs": 4,
                                          "training.learning_rate": 1, "training.learning_rate_decay": 0.6, "clip.gamma": clip,
                                          "certificate.relation": relation, "certificate.level_list": [1, 2, 5, 10, 20, 50]})
                distances, _ = map_of(here, run, 3.8, side)
                flat = [value for row in distances for value in row]
                found[kind, clip, relation] = {k: sum(value >= k for value in flat) / len(flat) for k in (1, 5, 20)}
                here.row(blobs=kind, clip=clip, guarantee=guarantee, **{f"of the plane at k={k}": share for k,
                    share in found[kind, clip, relation].items()})
                here.draw(cells(f"{kind}, clip {clip:g}: {guarantee}", "x1", "x2", 3.8, distances, 50, "records"))
    five = [shares[5] for shares in found.values()]
    more = all(found[kind, clip, "remove"][5] >= found[kind, clip, "add_remove"][5] for kind, clip, _ in found)
    return judged(more and min(five) > 0.9, f"at k = 5 from {percent(min(five))} to {percent(max(five))} of the plane are "
                  f"certified; of unlearning "
                  f"{'never less' if more else 'sometimes less'} than of privacy", stand_in=False)


@entry("004", "Figure 2")
def batches(here):
    smallest = {(relation, depth): batch for relation in RELATIONS for (depth, _),
                batch in of_000.smallest_batches(here, ("per_batch",), relation).items()}
    depths = sorted({depth for _, depth in smallest})
    here.draw(lines("smallest batch tried with 95% certified", "hidden layers", "records", {
        name: [(depth, smallest[relation, depth]) for depth in depths if smallest[relation, depth]] for relation,
        name in RELATIONS.items()}, log_y=True))
    grows = all((smallest[relation, a] or 1e99) <= (smallest[relation, b] or 1e99) for relation in RELATIONS for a,
                b in zip(depths, depths[1:]))
    return judged(grows, "; ".join(f"{RELATIONS[relation]}, {depth} layers: {batch or 'more than all'}" for (relation, depth),
                                   batch in smallest.items()))


@entry("004", "Figure 3")
def films(here):
    found, ks = {}, [1, 2, 5, 10, 20]
    for gamma in here.small((0.1, 0.3, 1), (1,)):
        for relation, guarantee in RELATIONS.items():
            run, data = fine_tuned(here, "pneumoniamnist", "as printed", relation, ks, training__epochs=2,
                                   training__learning_rate=0.03, training__learning_rate_decay=0.3, clip__gamma=gamma)
            accuracy, shares, _ = here.certified(run, data)
            found[gamma, guarantee] = accuracy, [shares[k] for k in ks]
            here.row(clip=gamma, guarantee=guarantee, accuracy=accuracy, **{f"k={k}": shares[k] for k in ks})
    here.draw(lines("certified", "changed records", "of test records", {f"{guarantee}, clip {gamma:g}": list(zip(ks, shares))
        for (gamma, guarantee), (_, shares) in found.items()}, ends=(0, 1)))
    least = min(shares[0] for _, shares in found.values())
    return judged(least > 0.9, f"at k = 1 at least {percent(least)} are certified; accuracies " + ", ".join(f"{accuracy:.3f} "
        f"(clip {gamma:g})" for (gamma, name), (accuracy, _) in found.items() if name == "privacy"))


PUBLISHED_REVIEWS = {1: (0.975, 0.946), 5: (0.853, 0.637), 10: (0.665, 0.027)}


@entry("004", "Figure 4")
def reviews(here):
    found = {}
    for way in ("as printed", "own"):
        for place, (relation, guarantee) in enumerate((("remove", "unlearning"), ("add_remove", "privacy"))):
            changed = {"training__epochs": here.small(125, 2), "training__learning_rate": 0.1,
                       "training__learning_rate_decay": 20} if way == "as printed" else {}
            run, data = fine_tuned(here, "imdb_lsa100", way, relation, [1, 5, 10], **changed)
            accuracy, shares, _ = found[way, guarantee] = here.certified(run, data)
            here.row(settings=way, guarantee=guarantee, accuracy=accuracy, **{f"k={k}": shares[k] for k in PUBLISHED_REVIEWS},
                     **{f"published k={k}": figures[place] for k, figures in PUBLISHED_REVIEWS.items()})
    best = max(found, key=lambda key: found[key][0])
    return judged(found[best][0] >= 0.78 and all(found[best[0], name][1][k] >= figures[place] - 0.1 for k,
                                                 figures in PUBLISHED_REVIEWS.items() for place,
                                                 name in enumerate(("unlearning", "privacy"))),
                  "; ".join(f"{way}, {guarantee}: accuracy {accuracy:.3f}, certified " + " ".join(f"{shares[k]:.3f}"
                      for k in PUBLISHED_REVIEWS) for (way, guarantee), (accuracy, shares, _) in found.items()))


def attacked(here):
    """{(epochs, whose, what is seen): what the attack finds}, of a short and of a long training."""
    data = here.made("synth", "tabular", "--features", here.small(400, 40), "--records", here.small(600, 100), "--test",
                     here.small(600, 100), "--seed", 1, "--out", OUT)
    found = {}
    for epochs, clip in ((4, 0.2), (100, 0.5)):
        run = here.trained(data, {"network.hidden": [], "network.input_shift": 0.5, "network.input_scale": 2, "clip.gamma": clip,
                                  "training.epochs": epochs, "training.learning_rate": 0.5, "certificate.levels": 2})
        asked = here.said("risk", "--run", run, "--data", data, "--shadows", here.small(64, 4), "--attributes", 0)
        for attack in asked["membership"]:
            if attack["scores"] == "online" and attack["whose"] != "all":
                found[epochs, attack["whose"], attack["observes"]] = attack
    for (epochs, whose, seen), attack in found.items():
        area, point = attack["auc"], attack["points"][1]["true_positives"]
        here.row(epochs=epochs, **{"of whom": whose, "sees": seen, "members": attack["members"], "others": attack["others"]},
                 **{"AUC": area["value"], "from": area["interval"][0], "to": area["interval"][1],
                    "found at 1% false": point["value"], "found from": point["interval"][0], "found to": point["interval"][1]})
    curves = {f"{epochs} epochs, {whose}, {seen}": [(x, max(y, 1e-3)) for x, y in attack["roc"] if x >= 2e-3]
              for (epochs, whose, seen), attack in found.items() if attack["members"] >= 100 or here.quick}
    here.draw(lines("membership by likelihood ratios", "false positives", "true positives",
                    {**curves, "chance": [(x / 500, x / 500) for x in range(1, 501)]}, log=True, log_y=True, ends=(1e-3, 1)))
    return found


@entry("004", "Theorem 4.1")
def members(here):
    data = blobs(here, "overlapping", 300)
    run = here.trained(data, {"network.hidden": [], "training.epochs": 4, "training.learning_rate": 1,
                              "training.learning_rate_decay": 0.6, "clip.gamma": 0.06, "certificate.levels": 20})
    left = here.steps(["unlearn", "--run", run, "--data", data, "--ids", here.file("1\n"), "--out", (OUT, "/run"), "--out-data",
                       (OUT, "/left.h5")])
    without = (left, "/run")
    with_it, without_it = ([(row["k"], row["member"]) for row in here.said("certify", "--run", one, "--queries",
        data)["certified"]] for one in (run, without))
    k, safe, fewer = next(((k, a, b) for (k, a), (_, b) in zip(with_it, without_it) if a != b), (0, 0, 0))
    here.row(**{f"k={k}": share for k, share in with_it[::4]}, dataset="with the record")
    here.row(**{f"k={k}": share for k, share in without_it[::4]}, dataset="without it")
    told = "; ".join(f"{epochs} epochs, {whose}, by {seen}: AUC {attack['auc']['value']:.3f} ({attack['auc']['interval'][0]:.3f} "
                     f"to {attack['auc']['interval'][1]:.3f})" for (epochs, whose, seen), attack in attacked(here).items())
    return (FALSE if k else judged(True, "", False)[0]), (
        f"which answers are safe depends on the records: at k = {k} {percent(safe)} of the queries are with the record and "
        f"{percent(fewer)} without it, so whoever sees which are answered as safe "
        "tells the two apart for certain (advantage 1). What holds is of one answer: where both datasets certify a query at k "
        ">= 1, they give it one label "
        f"(models/mathematics.md, membership). Of whom a run was trained on, attacks by likelihood ratios find: {told}")
