package import ObjectModel

/// What inference (lightweight migration) says of a step between two models.
package enum InferredStep: Sendable {
  /// It can be done. The reasons say what in the data may prevent it, each completing "unless …"; the
  /// mapping is nil if only the verdict is known.
  case possible(MappingModel?, unless: [String])
  /// It cannot be done, for these reasons.
  case impossible([String])
  /// Apple's documentation does not decide it; the reasons say what is missing. The mapping is the one
  /// that is inferred if lightweight migration can do it.
  case unknown(MappingModel?, [String])
}

extension InferredStep {
  /// The inferred step by Apple's documented rules, see ``LightweightVerdict``.
  package init(from old: ManagedObjectModel, to new: ManagedObjectModel) {
    let inference = MappingInference(EntityPairing(old: old, new: new))
    self.init(inference.changes) { inference.mappingModel() }
  }

  /// The step that some changes allow; the mapping is made only where there is one.
  init(_ changes: [ModelChange], mapping: () -> MappingModel?) {
    var obstacles: [String] = []
    var doubts: [String] = []
    var conditions: [String] = []
    for change in changes {
      switch change.verdict {
      case .notHandled(let reason): obstacles.append("\(change.summary): \(reason)")
      case .unknown(let reason): doubts.append("\(change.summary): \(reason)")
      case .handledIfDataAllows(let reason):
        // Most reasons name the place; only the others need the change.
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
