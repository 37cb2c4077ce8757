"""How fast questions are answered: alone, among many, right after an add, within a memory limit."""

from pathlib import Path

from benchmarks.floors import NumpyFloor
from benchmarks.report import Line, Target, timed
from benchmarks.timing import Call, take_turns
from benchmarks.world import Filled, World, fill

WARM_UP = 3


def _search(filled: Filled, asked: list[str], hits: list[int] | None = None) -> Call:
    async def search(number: int) -> None:
        found = await filled.app.memory.search(asked[number], user_id=filled.user_id)
        if hits is not None:
            hits.append(len(found))

    return search


async def measure_search(world: World) -> list[Line]:
    """A search of one scope, beside the engine's own searches and the bare numpy work."""
    lines = []
    for size in (world.sizes.small, world.sizes.large):
        filled = await world.alone(size)
        asked = filled.ask(world.sizes.searches + WARM_UP, seed=size + 1)
        texts = [turn.content for turn in filled.turns]
        embedder = filled.app.parts.embedder
        vectors = await embedder.embed(texts, purpose="document")
        asked_vectors = await embedder.embed(asked, purpose="query")
        hits: list[int] = []
        calls: dict[str, Call] = {
            **world.engine.search_floors(texts, vectors, asked, asked_vectors),
            "numpy": NumpyFloor(texts, vectors, asked, asked_vectors).search,
            "lamina": _search(filled, asked, hits),
        }
        taken = await take_turns(calls, count=world.sizes.searches, warm_up=WARM_UP)
        targets = {world.engine.word_floor: Target(bound=1 / 3, sense="<="), "numpy": Target(bound=3, sense="<=")}
        lines += [
            timed(
                taken,
                floor,
                engine=world.engine.name,
                bench="search",
                case=f"search, {size:,} entries in the scope",
                target=targets.get(floor),
                detail={"hits, mean": sum(hits) / len(hits)},
            )
            for floor in calls
            if floor != "lamina"
        ]
    return lines


async def measure_among(world: World) -> list[Line]:
    """The same scope in a store of its own and in a crowded one."""
    alone, crowded = await world.alone(world.sizes.small), await world.crowded()
    asked = alone.ask(world.sizes.searches + WARM_UP, seed=11)
    taken = await take_turns(
        {"alone": _search(alone, asked), "lamina": _search(crowded, asked)}, count=world.sizes.searches
    )
    case = f"search, scope of {world.sizes.small:,} among {world.sizes.crowd:,}"
    target = Target(bound=1.5, sense="<=")
    return [timed(taken, "alone", engine=world.engine.name, bench="among", case=case, target=target)]


async def measure_fresh(world: World) -> list[Line]:
    """An add and the search that must find it, beside both of them alone."""
    return [await _fresh(world, size) for size in (world.sizes.small, world.sizes.large)]


async def _fresh(world: World, size: int) -> Line:
    filled = await world.alone(size)
    memory, user_id = filled.app.memory, filled.user_id
    found: list[bool] = []

    async def add_and_search(number: int) -> None:
        added = await memory.add(f"The locker code of q{number}x is {number * 7919}.", user_id=user_id)
        hits = await memory.search(f"What is the locker code of q{number}x?", user_id=user_id)
        found.append(added.id in {hit.id for hit in hits})

    calls: dict[str, Call] = {
        "lamina": add_and_search,
        "search alone": _search(filled, filled.ask(world.sizes.adds + WARM_UP, seed=size + 2)),
    }
    taken = await take_turns(calls, count=world.sizes.adds, warm_up=WARM_UP)
    return timed(
        taken,
        "search alone",
        engine=world.engine.name,
        bench="fresh",
        case=f"add, then the search that finds it, {size:,} entries",
        detail={"found, share": sum(found) / len(found)},
    )


async def measure_bounded(world: World) -> list[Line]:
    """Index memory while more scopes are searched than the limit holds."""
    limit = world.sizes.bounded_mb
    scope_size = min(world.sizes.corner, 1000)
    scopes = 3 * limit * 1024 * 1024 // (1400 * scope_size)
    app, _ = await world.open("bounded", memory_limit_mb=limit)
    turns = world.language.turns(scope_size, seed=3)
    for number in range(scopes):
        await fill(app, [turn.memory(f"user-{number}") for turn in turns])
    engine = app.parts.engine
    before, highest = resident_mb(), 0
    for number in range(2 * scopes):
        await app.memory.search("What did Anna say about the garden?", user_id=f"user-{number % scopes}")
        highest = max(highest, engine.nbytes)
    return [
        Line(
            engine=world.engine.name,
            bench="bounded",
            case=f"index memory, {scopes} scopes of {scope_size:,} searched in turn",
            unit="MB",
            value=highest / 2**20,
            floor_name="limit",
            floor=limit,
            target=Target(bound=1, sense="<="),
            detail={"scopes held": engine.cached_scopes, "process grew by, MB": resident_mb() - before},
        )
    ]


def resident_mb() -> float:
    """What this process holds in memory; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except FileNotFoundError:
        return 0.0
    return pages * 4096 / 2**20
