import Foundation

/// How much of a test runs: a part in minutes, or with `LIFEBOAT_LONG=1` all of it; and from which seed.
public enum Rounds {
  private static let environment = ProcessInfo.processInfo.environment

  /// Whether `LIFEBOAT_LONG=1` is set.
  public static let areLong = environment["LIFEBOAT_LONG"] == "1"

  /// `LIFEBOAT_SEED`; nil when it is not set.
  public static let chosenSeed = environment["LIFEBOAT_SEED"].flatMap(UInt64.init)

  /// `LIFEBOAT_SEED`, or else always the same.
  public static let seed = chosenSeed ?? 20_261_121

  /// `LIFEBOAT_ROUNDS`, or else `usual`; in long rounds `factor` times as many.
  public static func count(_ usual: Int, whenLong factor: Int = 1) -> Int {
    (environment["LIFEBOAT_ROUNDS"].flatMap(Int.init) ?? usual) * (areLong ? factor : 1)
  }

  /// All of these in long rounds; otherwise every `step`th of them, from the one at `start`.
  public static func part<Element>(
    of all: some Sequence<Element>, every step: Int, from start: Int = 0
  ) -> [Element] {
    guard !areLong else { return Array(all) }
    return all.enumerated().filter { $0.offset >= start && ($0.offset - start) % step == 0 }
      .map(\.element)
  }
}
