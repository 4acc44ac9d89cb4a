"""Which cases of parametrised tests run: all, or a random sample of each matrix.

A matrix is what one test function makes of its parameters.  RF_SAMPLE=NUMBER, the start value, picks a sample of
each: at least a fifth of all cases; every value of a parameter that has few, such as modes; and a caller (root or user)
by chance, both where two cases are left.  What a function says of itself goes before that:

    @pytest.mark.whole              each case always
    @pytest.mark.matrix(tags=f)     f(parameters) names what has to be there at least once, instead of each value
    @pytest.mark.others             a suite of other people's packages: one case, by chance

A test that loops over a table asks for some(rows, key), one that tries random instants for often(count).

The same start value picks the same cases from the same tests.  RF_SHARD=2/4 leaves the second quarter of what was picked.
"""
import collections
import os
import random

SHARE = 5  # one case in so many, at least
FEW = 4    # values of a parameter, all of which are there


def is_sample():
    return bool(os.environ.get("RF_SAMPLE"))


def some(rows, key):
    """The rows of a table that a test loops over; in a sample a fifth of them, others for another key."""
    rows = list(rows)
    if not is_sample() or not rows:
        return rows
    return random.Random(f"{os.environ['RF_SAMPLE']} {key}").sample(rows, -(-len(rows) // SHARE))


def often(count):
    """How often a test tries something at a random instant: a third as often in a sample."""
    return -(-count // 3) if is_sample() else count


def parameters(item):
    return item.callspec.params if hasattr(item, "callspec") else {}


def caller(item):
    return parameters(item).get("as_who")


def short_ones(items):
    """The parameters of a function that have few values."""
    values = collections.defaultdict(set)
    for item in items:
        for name, value in parameters(item).items():
            values[name].add(id(value))
    return {name for name, found in values.items() if len(found) <= FEW and name != "as_who"}


def tags_of(item, short):
    """What has to be there at least once."""
    marker = item.get_closest_marker("matrix")
    if marker:
        return set(marker.kwargs["tags"](parameters(item)))
    return {(name, id(value)) for name, value in parameters(item).items() if name in short} or {"itself"}


def pick(items, chance):
    """A sample of one function's cases."""
    if items[0].get_closest_marker("others"):
        return [chance.choice(items)]
    if len(items) == 1 or items[0].get_closest_marker("whole"):
        return items
    shuffled, short = chance.sample(items, len(items)), short_ones(items)
    covered, kept = set(), []
    for item in shuffled:
        if not tags_of(item, short) <= covered:
            covered |= tags_of(item, short)
            kept.append(item)
    rest = [item for item in shuffled if item not in kept]
    while rest and len(kept) * SHARE < len(items):
        kept.append(rest.pop())
    if len(kept) > 1:
        for missing in {caller(item) for item in items} - {caller(item) for item in kept}:
            kept.append(next(item for item in rest if caller(item) == missing))
    return kept


def function_of(item):
    return item.nodeid.partition("[")[0]


def sample(items, seed):
    functions = collections.defaultdict(list)
    for item in items:
        functions[function_of(item)].append(item)
    kept = {item.nodeid for name, cases in functions.items()
            for item in pick(cases, random.Random(f"{seed} {name}"))}
    return [item for item in items if item.nodeid in kept]


def pytest_collection_modifyitems(config, items):
    kept = sample(items, os.environ["RF_SAMPLE"]) if is_sample() else items[:]
    if os.environ.get("RF_SHARD"):
        number, count = map(int, os.environ["RF_SHARD"].split("/"))
        kept = kept[len(kept) * (number - 1) // count:len(kept) * number // count]
    left = {item.nodeid for item in items} - {item.nodeid for item in kept}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left])
    items[:] = kept
