/// What to do about a store that did not open.
public enum Action: String, Sendable, Codable, CaseIterable {
  /// Nothing prevents opening the store.
  case open
  /// Try again, with growing pauses and a limited number of attempts; the store stays as it is.
  case retry
  /// Wait for a condition (unlock, space, another process), then try again; the store stays as it is.
  case wait
  /// Show the failure; the store stays as it is.
  case refuse
  /// Set the store aside and begin with a fresh one.
  case quarantine
  /// Continue without the store, for example with an in-memory store, and show the failure. The failure has recurred so
  /// often that the store is no longer moved.
  case openInMemory
}

/// What the evidence says about a store, and what to do.
public struct Verdict: Sendable, Codable, Equatable {
  /// What the evidence says about the store.
  public enum Finding: String, Sendable, Codable, CaseIterable {
    /// Nothing is wrong with the store.
    case healthy
    /// The store is sound, but the app's model does not fit it.
    case incompatible
    /// A newer build of the app, or a newer framework, wrote the store.
    case newer
    /// The file is damaged.
    case corrupt
    /// The file is not a store, or it is the store of another app, or it is encrypted and the key does not fit.
    case foreign
    /// The environment failed: locks, space, permissions or the device. This says nothing about the store.
    case unavailable
    /// The error comes from the host's own code or configuration.
    case hostError
  }

  /// What the evidence says about the store.
  public var finding: Finding
  /// What to do about the store.
  public var action: Action
  /// Why, in words, for support.
  public var reason: String
  /// The rule that decided.
  public var rule: Rule
}
