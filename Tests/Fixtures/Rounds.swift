import Foundation

/// How much of a test is run, and with which seed. Normally it is a part that takes minutes; with `LIFEBOAT_LONG=1` it
/// is everything.
public enum Rounds {
  private static let environment = ProcessInfo.processInfo.environment

  /// Whether `LIFEBOAT_LONG=1` is set.
  public static let areLong = environment["LIFEBOAT_LONG"] == "1"

  /// The seed in `LIFEBOAT_SEED`; nil when this variable is not set.
  public static let chosenSeed = environment["LIFEBOAT_SEED"].flatMap(UInt64.init)

  /// The seed in `LIFEBOAT_SEED`, or a fixed seed when this variable is not set.
  public static let seed = chosenSeed ?? 20_261_121

  /// The number of rounds: the number in `LIFEBOAT_ROUNDS`, or else `usual`. In long rounds it is multiplied by
  /// `factor`.
  public static func count(_ usual: Int, whenLong factor: Int = 1) -> Int {
    (environment["LIFEBOAT_ROUNDS"].flatMap(Int.init) ?? usual) * (areLong ? factor : 1)
  }

  /// In long rounds, all elements. Otherwise every `step`th element, beginning with the element at index `start`.
  public static func part<Element>(
    of all: some Sequence<Element>, every step: Int, from start: Int = 0
  ) -> [Element] {
    guard !areLong else { return Array(all) }
    return all.enumerated().filter { $0.offset >= start && ($0.offset - start) % step == 0 }
      .map(\.element)
  }
}
