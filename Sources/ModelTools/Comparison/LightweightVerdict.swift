import ObjectModel

/// Whether Core Data's inferred ("lightweight") migration can carry out one change of a model.
///
/// The rules are those of Apple's documentation, see ``LightweightRules``. Where the documentation is silent, the
/// verdict is ``unknown(reason:)``.
public enum LightweightVerdict: Sendable, Hashable {
  /// Lightweight migration can do the change, whatever the store contains.
  case handled
  /// Lightweight migration can do the change unless the store's data prevent it. The reason is a clause that completes
  /// "unless …".
  case handledIfDataAllows(reason: String)
  /// Lightweight migration cannot do the change. The reason is a clause, for use after "because".
  case notHandled(reason: String)
  /// The change alters no version hash. A store opens with the new model as before, without any migration.
  case nothingToDo
  /// Apple's documentation does not say whether lightweight migration can do the change. The reason is a clause that
  /// says what is not documented.
  case unknown(reason: String)

  /// The verdict as a stable word for programs: `handled`, `handledIfDataAllows`, `notHandled`, `nothingToDo` or
  /// `unknown`.
  public var name: String {
    switch self {
    case .handled: "handled"
    case .handledIfDataAllows: "handledIfDataAllows"
    case .notHandled: "notHandled"
    case .nothingToDo: "nothingToDo"
    case .unknown: "unknown"
    }
  }

  /// The reason for the verdict, as a clause; nil for ``handled`` and ``nothingToDo``.
  public var reason: String? {
    switch self {
    case .handled, .nothingToDo: nil
    case .handledIfDataAllows(let reason), .notHandled(let reason), .unknown(let reason): reason
    }
  }

  /// The verdict as a clause for people, such as `lightweight migration can do this`.
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

  /// The rank of the verdict, from 0 (best) to 4 (worst). If there are several verdicts, the worst one is the overall
  /// verdict.
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
