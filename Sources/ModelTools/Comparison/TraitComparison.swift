import ObjectModel

/// Compares the traits of one element before and after.
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

  /// Notes a change of a trait as text; nil means no value.
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

  /// Notes a change of a flag.
  mutating func compare(
    _ trait: ModelTrait, _ old: Bool, _ new: Bool, affects: Bool = false,
    verdict: @autoclosure () -> LightweightVerdict = .handled, remark: String? = nil
  ) {
    compare(
      trait, old ? ModelTrait.yes : ModelTrait.no, new ? ModelTrait.yes : ModelTrait.no,
      affects: affects, verdict: verdict(), remark: remark)
  }
}
