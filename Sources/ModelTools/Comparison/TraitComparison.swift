import ObjectModel

/// Collects the changed traits of one entity, property, index, template or model.
struct TraitComparison {
  private let part: ModelChange.Part
  private let entity: String?
  private let name: String?
  private(set) var changes: [ModelChange] = []

  init(_ part: ModelChange.Part, entity: String?, name: String?) {
    self.part = part
    self.entity = entity
    self.name = name
  }

  /// Adds a change if the old and the new text of a trait differ. Nil means that the trait has no value.
  mutating func compare(
    _ trait: ModelTrait, _ old: String?, _ new: String?, affects: Bool = false,
    verdict: @autoclosure () -> LightweightVerdict = .handled, remark: String? = nil
  ) {
    guard old != new else { return }
    changes.append(
      ModelChange(
        part, .changed, entity: entity, name: name, trait: trait, old: old, new: new,
        affects: affects, verdict: affects ? verdict() : .nothingToDo, remark: remark))
  }

  /// Adds a change if the old and the new value of a flag differ.
  mutating func compare(
    _ trait: ModelTrait, _ old: Bool, _ new: Bool, affects: Bool = false,
    verdict: @autoclosure () -> LightweightVerdict = .handled, remark: String? = nil
  ) {
    compare(
      trait, old ? ModelTrait.yes : ModelTrait.no, new ? ModelTrait.yes : ModelTrait.no,
      affects: affects, verdict: verdict(), remark: remark)
  }
}
