import ObjectModel

/// Whether Core Data's inferred ("lightweight") migration can do a change.
///
/// The rules are those of Apple's documentation, see ``LightweightRules``; where it is silent the
/// verdict is ``unknown(reason:)``.
public enum LightweightVerdict: Sendable, Hashable {
  /// Lightweight migration can do the change, whatever the data.
  case handled
  /// Lightweight migration can do the change unless the data prevent it; the reason completes
  /// "unless …".
  case handledIfDataAllows(reason: String)
  /// Lightweight migration cannot do the change; the reason is a clause of its own.
  case notHandled(reason: String)
  /// The change alters no version hash: a store opens as before, without any migration.
  case nothingToDo
  /// Apple's documentation does not settle it; the reason says what is missing.
  case unknown(reason: String)

  /// The stable word for programs: `handled`, `handledIfDataAllows`, `notHandled`, `nothingToDo`
  /// or `unknown`.
  public var name: String {
    switch self {
    case .handled: "handled"
    case .handledIfDataAllows: "handledIfDataAllows"
    case .notHandled: "notHandled"
    case .nothingToDo: "nothingToDo"
    case .unknown: "unknown"
    }
  }

  /// The reason for the verdict; nil if it needs none.
  public var reason: String? {
    switch self {
    case .handled, .nothingToDo: nil
    case .handledIfDataAllows(let reason), .notHandled(let reason), .unknown(let reason): reason
    }
  }

  /// The verdict as a clause for a reader: `lightweight migration can do this`.
  public var text: String {
    switch self {
    case .handled: "lightweight migration can do this"
    case .handledIfDataAllows(let reason): "lightweight migration can do this unless \(reason)"
    case .notHandled(let reason): "lightweight migration cannot do this, because \(reason)"
    case .nothingToDo: "nothing to migrate"
    case .unknown(let reason):
      "it is not known whether lightweight migration can do this: \(reason)"
    }
  }

  /// The rank of a verdict when several are combined: the worst one counts.
  var weight: Int {
    switch self {
    case .nothingToDo: 0
    case .handled: 1
    case .handledIfDataAllows: 2
    case .unknown: 3
    case .notHandled: 4
    }
  }
}
