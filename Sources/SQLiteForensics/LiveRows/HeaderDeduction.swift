import SQLiteFile

/// Deduces the values of a record whose header is wrong or not credible.
///
/// A reading is one way to divide the record's body into values. A reading costs more for each serial type of the
/// header that it rejects, and for each value that is unlike the values of sound rows. If all readings whose cost is
/// near the lowest cost agree on a value, the value is certain. Otherwise it is in doubt.
struct HeaderDeduction {
  /// A reading of a record counts as likely if its cost exceeds the lowest cost of all readings by at most this amount,
  /// in sixteenths of a bit.
  static let margin = 13 * FieldHabits.bit / 2
  /// The maximum number of fields in a record. The values of records with more fields are not deduced.
  static let maxFields = 64

  private struct Step: BitwiseCopyable {
    var field: Int32
    var cost: Int32
    /// `start` and `end`: the offsets of the value from the start of the record's body, in bytes.
    var start: Int32
    var end: Int32
    var type: UInt64
    var isDistrusted: Bool
  }

  /// The serial type and the offsets of one field, as far as all likely readings agree on them.
  struct Field: BitwiseCopyable {
    /// The serial type of the field; nil if the likely readings of the record differ in this type.
    var type: UInt64?
    /// `start` and `end`: the offsets of the field's value from the start of the record's body, in bytes. Nil when the
    /// likely ways to divide the body into values give different offsets.
    var start: Int?
    var end: Int?
    /// Whether the serial type in the header is probably wrong. It is probably wrong if the most likely reading of the
    /// record, or one that is about as likely, uses another type.
    var isDistrusted = false
  }

  /// A record whose values are to be deduced: the serial types in its header, and the position of its body.
  struct Question {
    var types: ContiguousArray<UInt64>
    /// `body`: the page offset at which the record's values begin. `length`: the total length of the values in bytes.
    var body: Int
    var length: Int
    /// For each field, the cost of replacing the serial type in the header by another type, in sixteenths of a bit.
    var distrust: ContiguousArray<Int>
    /// For each field, an additional cost if the header's serial type is replaced by a type of the same length, in
    /// sixteenths of a bit. The cost is added to ``distrust``, because a wrong type rarely has the right length.
    var exchange: ContiguousArray<Int>
  }

  private(set) var fields: ContiguousArray<Field> = []
  /// The lowest cost of any reading of the record, in sixteenths of a bit.
  private(set) var cost = 0

  private var steps: ContiguousArray<Step> = []
  private var forward: ContiguousArray<Int32> = []
  private var backward: ContiguousArray<Int32> = []
  /// For each field, the total length, in bytes, of this field and all later fields, according to the header.
  private var rest: ContiguousArray<Int> = []
  /// For each field, the lowest ``Question/distrust`` among this field and all later fields.
  private var cheapest: ContiguousArray<Int> = []
  private var work = 0
  /// The number of offsets at which a value can begin or end: the length of the record's body in bytes, plus 1.
  private var width = 0
  /// The maximum cost, in sixteenths of a bit, that the current search allows for a way to divide the record into
  /// values.
  private var bound = 0

  /// An offset in the record's body at which the value of `field` may begin. `spent`: the cost of the cheapest way to
  /// divide the bytes before this offset into the values of the earlier fields.
  private struct Start {
    let field: Int
    let offset: Int
    let spent: Int
  }

  /// The maximum of ``bound``, in sixteenths of a bit. Readings with a higher cost are never considered.
  private static let maxCost = 60 * FieldHabits.bit
  /// The maximum amount of work for one record: about the number of values and bytes that are examined.
  private static let maxWork = 1 << 17
  private static let maxSteps = 1 << 15
  private static let maxStates = 1 << 16
  private static let unreached = Int32(FieldHabits.impossible)

  /// Finds the cheapest readings of a record, and sets ``fields`` and ``cost``. A reading is one way to divide the
  /// bytes of the record's body into values. `budget` is the amount of work that is still allowed. This function
  /// subtracts the work that it does.
  ///
  /// - Returns: false when every reading costs too much, or when the work exceeds its limit.
  mutating func weigh(
    _ question: Question, _ page: RawSpan, _ habits: FieldHabits, _ budget: inout Int
  ) -> Bool {
    let count = question.types.count
    guard count > 0, count <= Self.maxFields, question.length >= 0,
      (count + 1) * (question.length + 1) <= Self.maxStates
    else { return false }
    prepare(question)
    // The bound begins low and rises, so that costly readings are only considered when no cheap reading exists.
    bound = Self.margin + (cheapest.first ?? 0) + FieldHabits.bit
    while bound <= Self.maxCost {
      work = min(budget, Self.maxWork)
      let before = work
      let isDone = gather(question, page, habits)
      budget -= before - work
      guard isDone else { return false }
      let best = Int(forward[count * (question.length + 1) + question.length])
      if best + Self.margin <= bound {
        cost = best
        judge(question, best)
        return true
      }
      bound = best < FieldHabits.impossible ? best + Self.margin : bound + 8 * FieldHabits.bit
    }
    return false
  }

  private mutating func prepare(_ question: Question) {
    let count = question.types.count
    width = question.length + 1
    rest = ContiguousArray(repeating: 0, count: count + 1)
    cheapest = ContiguousArray(repeating: FieldHabits.impossible, count: count + 1)
    for field in (0..<count).reversed() {
      // All lengths that exceed the body's length count as the same length.
      let length = min(RecordDecoder.length(ofType: question.types[field]), question.length + 1)
      rest[field] = min(rest[field + 1] + length, 1 << 30)
      cheapest[field] = min(cheapest[field + 1], question.distrust[field])
    }
  }

  // MARK: - Readings

  /// Collects in ``steps`` the values of all readings that cost at most ``bound``. A reading is one way to divide the
  /// bytes of the record's body into values. Returns false when this takes too much work.
  private mutating func gather(
    _ question: Question, _ page: RawSpan, _ habits: FieldHabits
  ) -> Bool {
    let count = question.types.count
    steps.removeAll(keepingCapacity: true)
    forward.removeAll(keepingCapacity: true)
    forward.append(contentsOf: repeatElement(Self.unreached, count: (count + 1) * width))
    forward[0] = 0
    work -= forward.count >> 4
    for field in 0..<count {
      for start in 0..<width where forward[field * width + start] < Self.unreached {
        let place = Start(
          field: field, offset: start, spent: Int(forward[field * width + start]))
        let type = question.types[field]
        let length = RecordDecoder.length(ofType: type)
        let isReserved = type == 10 || type == 11
        if !isReserved, length <= question.length - start {
          let surprise = habits.surprise(field, type, page, question.body + start, length)
          work -= 1 + length
          add(place, length, type, surprise, isDistrusted: false)
        }
        guard place.spent + question.distrust[field] <= bound else { continue }
        addOthers(place, isReserved ? -1 : length, question, page, habits)
        if work < 0 || steps.count > Self.maxSteps { return false }
      }
    }
    return true
  }

  /// Adds the values that a field may have if its serial type in the header is wrong. `length` is the length of the
  /// value according to the header; negative for a reserved serial type.
  private mutating func addOthers(
    _ place: Start, _ length: Int, _ question: Question, _ page: RawSpan, _ habits: FieldHabits
  ) {
    let field = place.field
    let type = question.types[field]
    let left = question.length - place.offset
    let body = question.body + place.offset
    let classes = habits.classes(field)
    // If the lengths in the header add up to the length of the body, a value of another length is unlikely: at least
    // two types of the header would be wrong, and their lengths would add up by chance.
    let chance = rest[0] == question.length ? 2 * FieldHabits.bit : 0
    func price(_ other: Int) -> Int {
      question.distrust[field]
        + (other == length ? question.exchange[field] : length >= 0 ? chance : 0)
    }
    for other in 0...9 as ClosedRange<UInt64> where other != type {
      let size = RecordDecoder.length(ofType: other)
      guard size <= left, classes.contains(StorageClasses(serialType: other)) else { continue }
      work -= 1
      let surprise = habits.surpriseOfOther(field, other, page, body, size)
      add(place, size, other, price(size) + surprise, isDistrusted: true)
    }
    let most = min(left, habits.maxLength(field))
    if classes.contains(.text) {
      var look = FieldHabits.Look()
      var size = 0
      while size <= most {
        let other = UInt64(13 + 2 * size)
        if other != type {
          add(
            place, size, other, price(size) + habits.surprise(field, size, look),
            isDistrusted: true)
        }
        work -= 1
        guard size < most, let next = habits.next(page, body + size, body + left) else { break }
        look.append(next.scalar)
        size += next.length
      }
    }
    if classes.contains(.blob) {
      for size in 0...most {
        let other = UInt64(12 + 2 * size)
        work -= 1
        guard other != type else { continue }
        let surprise = habits.surpriseOfOther(field, other, page, body, size)
        add(place, size, other, price(size) + surprise, isDistrusted: true)
      }
    }
  }

  @inline(__always)
  private mutating func add(
    _ place: Start, _ length: Int, _ type: UInt64, _ cost: Int, isDistrusted: Bool
  ) {
    let total = place.spent + cost
    let end = place.offset + length
    // If the header's types of the later fields do not exactly fill the rest of the body, at least one of them is
    // wrong.
    let ahead = end + rest[place.field + 1] == width - 1 ? 0 : cheapest[place.field + 1]
    guard total + ahead <= bound else { return }
    steps.append(
      Step(
        field: Int32(place.field), cost: Int32(cost), start: Int32(place.offset), end: Int32(end),
        type: type, isDistrusted: isDistrusted))
    let next = (place.field + 1) * width + end
    if Int32(total) < forward[next] { forward[next] = Int32(total) }
  }

  // MARK: - Agreement

  /// Sets ``fields`` to the values on which all likely readings agree. A reading is likely if its cost exceeds the cost
  /// of the best reading, `best`, by at most ``margin``.
  private mutating func judge(_ question: Question, _ best: Int) {
    let count = question.types.count
    backward.removeAll(keepingCapacity: true)
    backward.append(contentsOf: repeatElement(Self.unreached, count: (count + 1) * width))
    backward[count * width + question.length] = 0
    for step in steps.reversed() {
      let after = backward[(Int(step.field) + 1) * width + Int(step.end)]
      guard after < Self.unreached else { continue }
      let place = Int(step.field) * width + Int(step.start)
      backward[place] = min(backward[place], after + step.cost)
    }
    fields = ContiguousArray(repeating: Field(), count: count)
    var met = ContiguousArray(repeating: false, count: count)
    for step in steps {
      let field = Int(step.field)
      let after = backward[(field + 1) * width + Int(step.end)]
      guard after < Self.unreached else { continue }
      let through = Int(forward[field * width + Int(step.start)] + step.cost + after)
      guard through <= best + Self.margin else { continue }
      if step.isDistrusted, through <= best + 2 * FieldHabits.bit {
        fields[field].isDistrusted = true
      }
      if !met[field] {
        met[field] = true
        fields[field].type = step.type
        fields[field].start = Int(step.start)
        fields[field].end = Int(step.end)
      } else {
        if fields[field].type != step.type { fields[field].type = nil }
        if fields[field].start != Int(step.start) { fields[field].start = nil }
        if fields[field].end != Int(step.end) { fields[field].end = nil }
      }
    }
  }
}
