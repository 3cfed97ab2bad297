import ObjectModel

/// Whether Core Data can migrate from one model to another by an inferred mapping (lightweight migration).
package enum InferredStep: Sendable {
  /// An inferred mapping can do the step, unless the data prevents it. `unless` lists what may prevent it, as clauses
  /// that can follow the word "unless". The mapping model is nil if it was not made.
  case possible(MappingModel?, unless: [String])
  /// An inferred mapping cannot do the step, for these reasons.
  case impossible([String])
  /// Apple's documentation does not say whether an inferred mapping can do the step. The strings say what is not
  /// documented. The mapping model is the one that would be inferred.
  case unknown(MappingModel?, [String])
}

extension InferredStep {
  /// Judges a step by the verdicts on its changes, see ``LightweightVerdict``. `mapping` makes the inferred mapping. It
  /// is not called if the step is impossible.
  init(_ changes: [ModelChange], mapping: () -> MappingModel?) {
    var obstacles: [String] = []
    var doubts: [String] = []
    var conditions: [String] = []
    for change in changes {
      switch change.verdict {
      case .notHandled(let reason): obstacles.append("\(change.summary): \(reason)")
      case .unknown(let reason): doubts.append("\(change.summary): \(reason)")
      case .handledIfDataAllows(let reason):
        // Most reasons name the entity. If a reason does not, then the change is written after the reason.
        let isPlaced = change.entityName.map { reason.contains("`\($0)`") } ?? true
        conditions.append(isPlaced ? reason : "\(reason) (\(change.summary))")
      case .handled, .nothingToDo: break
      }
    }
    if !obstacles.isEmpty {
      self = .impossible(obstacles)
    } else if !doubts.isEmpty {
      self = .unknown(mapping(), doubts)
    } else {
      self = .possible(mapping(), unless: conditions)
    }
  }
}
