import ObjectModel

/// Compares one part of two models: an entity, a property, an index, a fetch request template or the whole model.
/// Collects each difference as a change.
struct TraitComparison {
  private let part: ModelChange.Part
  private let entity: String?
  private let name: String?
  private let fixed: LightweightVerdict?
  private(set) var changes: [ModelChange] = []

  /// Makes an empty list of changes. `fixed`: the verdict on every change that alters a version hash, whatever verdict
  /// the change is added with. If `fixed` is nil, each change keeps the verdict with which it is added.
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

  /// Adds a change of `trait`, even if `old` and `new` are equal.
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
