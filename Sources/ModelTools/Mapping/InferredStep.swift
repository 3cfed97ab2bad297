package import ObjectModel

/// Whether inference (lightweight migration) can do a step between two models.
package enum InferredStep: Sendable {
  /// Inference can do the step. The reasons say what in the data may prevent it; each completes "unless …". The mapping
  /// is nil if only the verdict is known.
  case possible(MappingModel?, unless: [String])
  /// Inference cannot do the step, for these reasons.
  case impossible([String])
  /// Apple's documentation does not say whether inference can do the step. The reasons say what is not documented. The
  /// mapping is the one that is inferred if inference can do it.
  case unknown(MappingModel?, [String])
}

extension InferredStep {
  /// Judges the step between two models by Apple's documented rules, see ``LightweightVerdict``.
  package init(from old: ManagedObjectModel, to new: ManagedObjectModel) {
    let inference = MappingInference(EntityPairing(old: old, new: new))
    self.init(inference.changes) { inference.mappingModel() }
  }

  /// Judges the step that makes some changes. `mapping` is called only if the step is not impossible.
  init(_ changes: [ModelChange], mapping: () -> MappingModel?) {
    var obstacles: [String] = []
    var doubts: [String] = []
    var conditions: [String] = []
    for change in changes {
      switch change.verdict {
      case .notHandled(let reason): obstacles.append("\(change.summary): \(reason)")
      case .unknown(let reason): doubts.append("\(change.summary): \(reason)")
      case .handledIfDataAllows(let reason):
        // Most reasons name the entity. Only reasons that do not name it need the change beside them.
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
