#!/usr/bin/env python3
"""Writes the figures of run.sh, and what they mean for a billion bundles a year."""
import heapq, os, random, resource, statistics, subprocess, sys, time

count, hostile = int(sys.argv[1]), int(sys.argv[2])
alone, local, cluster, lost = float(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5]), int(sys.argv[6])
pairs = [[float(seconds) for seconds in line.split()] for line in open(sys.argv[7])]
# The first two runs of a session pay for Java's compiler.
cold, warm = pairs[:2], pairs[2:]
lifeboat, listing = sys.argv[8:10]


def cost():
    """Seconds of all cores, bytes read and bytes out for a bundle."""
    paths = [path for path in open(listing).read().split("\n") if os.path.isfile(path)][:1000]
    sizes = sum(os.path.getsize(path) for path in paths)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = subprocess.run([lifeboat, "triage", "-q", "-", "--workers", "1"], input="\n".join(paths).encode(), capture_output=True)
    if result.returncode not in (0, 1): sys.exit(f"triage ended with status {result.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent / len(paths), sizes / len(paths), len(result.stdout) / len(paths)


def simulate(cores, tasks, seconds, speculates, seed=1, hanging=0.001, timeout=60, inputs=1000):
    """The hours until every task has ended. One task in 50 runs on a machine at a fifth of its speed, and some inputs take
    the whole time that they may take. Cores that have no task left run copies of the slowest ones, as Spark does: once a task
    has taken one and a half times as long as the median."""
    chance = random.Random(seed)
    lengths = []
    for _ in range(tasks):
        mean = inputs * hanging
        hung = max(0, round(chance.gauss(mean, mean ** 0.5)))
        length = inputs * seconds + hung * timeout
        lengths.append((length, length * (5 if chance.random() < 0.02 else 1)))
    median = statistics.median(slow for _, slow in lengths)
    # The times at which a core is free, and the ends of the tasks.
    free = [0.0] * cores
    running = []
    for length, slow in lengths:
        begin = heapq.heappop(free)
        heapq.heappush(free, begin + slow)
        running.append((begin + slow, begin, length))
    ends = sorted(running, reverse=True)
    if speculates:
        # The slowest tasks are copied first; a core that is free before a copy may begin waits for it.
        for number, (end, begin, length) in enumerate(ends):
            start = max(free[0], begin + 1.5 * median)
            if start + length < end:
                ends[number] = (start + length, begin, length)
                heapq.heapreplace(free, start + length)
    return max(end for end, _, _ in ends) / 3600


spent, read, out = cost()
each_spark, each = [statistics.median(seconds) / (3 * count) for seconds in zip(*warm)]
added = statistics.median(with_spark / without for with_spark, without in warm) - 1
def shown(pairs): return ", ".join(f"{with_spark:.1f} and {without:.1f}" for with_spark, without in pairs)
year = 1e9
cores = year * spent / (365 * 86400)
print(f"""# Fleet

Made by `Samples/Fleet/run.sh {count}` on {os.cpu_count()} cores, {time.strftime('%Y-%m-%d')}, Spark 3.5.3, Java 17. {hostile:,} of the {count:,} inputs are hostile: bombs,
pipes, halves, links to nowhere, random bytes.

| run | seconds | the same lines |
| --- | ---: | --- |
| `lifeboat triage` on one machine | {alone:.1f} | |
| Spark, `local[2]` | {local:.1f} | yes, each one, and the columns of the catalogue |
| Spark, a cluster of two workers, one killed on the way (lines about lost tasks in the log: {lost}) | {cluster:.1f} | yes, each one, and the columns of the catalogue |

A task has 1,000 inputs. The listing three times over, in one session of Spark and right after that without it, in seconds:

* while Java compiled what it ran: {shown(cold)}
* and then: {shown(warm)}

So a bundle costs {each * 1000:.2f} ms alone and {each_spark * 1000:.2f} ms with Spark that runs already. Spark adds {added * 100:.0f} %, by the median of the
pairs after the first two.

## A billion bundles a year, on paper

Measured: a bundle costs {spent * 1000:.2f} ms of one core, {read:,.0f} bytes read and {out:,.0f} bytes out.

* {year * spent / 3600:,.0f} core hours a year, which is {cores:.2f} cores without a pause. {year * read / 1e12:.1f} TB are read, {year * out / 1e12:.2f} TB of lines come out before Parquet packs them.
* A day has {year / 365:,.0f} bundles, {year / 365 / 1000:,.0f} tasks of 1,000. On 8 cores a day takes {year / 365 * spent / 8 / 60:.0f} minutes.

One input in a thousand that takes all of its 60 seconds costs more than all others. A simulation of a day on 64 cores, where one task in 50
also has a machine at a fifth of its speed:

| bad inputs | speculative copies | hours |
| --- | --- | ---: |""")
tasks = int(year / 365 / 1000)
for name, hanging, timeout in [("none", 0, 60), ("one in a thousand, 60 s each", 0.001, 60), ("one in a thousand, 5 s each (`--timeout 5`)", 0.001, 5)]:
    for speculates in (False, True):
        hours = simulate(64, tasks, spent, speculates, hanging=hanging, timeout=timeout)
        print(f"| {name} | {'yes' if speculates else 'no'} | {hours:.2f} |")
