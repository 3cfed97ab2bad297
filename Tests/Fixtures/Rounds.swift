import Foundation

/// How much of a test runs: a part in minutes, or with `LIFEBOAT_LONG=1` all of it.
public enum Rounds {
  /// Whether `LIFEBOAT_LONG=1` is set.
  public static let areLong = ProcessInfo.processInfo.environment["LIFEBOAT_LONG"] == "1"

  /// All of these in long rounds; otherwise every `step`th of them, from the one at `start`.
  public static func part<Element>(
    of all: some Sequence<Element>, every step: Int, from start: Int = 0
  ) -> [Element] {
    guard !areLong else { return Array(all) }
    return all.enumerated().filter { $0.offset >= start && ($0.offset - start) % step == 0 }
      .map(\.element)
  }
}
