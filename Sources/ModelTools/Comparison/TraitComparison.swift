import ObjectModel

/// Collects the changed traits of one entity, property, index, fetch request template or model.
struct TraitComparison {
  private let part: ModelChange.Part
  private let entity: String?
  private let name: String?
  private let fixed: LightweightVerdict?
  private(set) var changes: [ModelChange] = []

  /// Makes a comparison without changes. `fixed` is the verdict on each change that alters a hash. If `fixed` is nil,
  /// then each of these changes has the verdict with which it is added.
  init(
    _ part: ModelChange.Part, entity: String?, name: String?, fixed: LightweightVerdict? = nil
  ) {
    self.part = part
    self.entity = entity
    self.name = name
    self.fixed = fixed
  }

  /// Adds a change if the old and the new value of a trait differ. Nil means that the trait has no value.
  mutating func compare(
    _ trait: ModelTrait, _ old: String?, _ new: String?, affects: Bool = false,
    verdict: @autoclosure () -> LightweightVerdict = .handled, remark: String? = nil
  ) {
    guard old != new else { return }
    add(trait, old, new, affects: affects, verdict: verdict(), remark: remark)
  }

  /// Adds a change of a trait, even if the trait's old and new texts are equal.
  mutating func add(
    _ trait: ModelTrait, _ old: String?, _ new: String?, affects: Bool = false,
    verdict: @autoclosure () -> LightweightVerdict = .handled, remark: String? = nil
  ) {
    changes.append(
      ModelChange(
        part, .changed, entity: entity, name: name, trait: trait, old: old, new: new,
        affects: affects, verdict: affects ? fixed ?? verdict() : .nothingToDo, remark: remark))
  }

  mutating func compare(
    _ trait: ModelTrait, _ old: Bool, _ new: Bool, affects: Bool = false,
    verdict: @autoclosure () -> LightweightVerdict = .handled, remark: String? = nil
  ) {
    compare(
      trait, old ? ModelTrait.yes : ModelTrait.no, new ? ModelTrait.yes : ModelTrait.no,
      affects: affects, verdict: verdict(), remark: remark)
  }
}
