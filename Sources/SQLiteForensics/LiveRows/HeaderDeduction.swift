import SQLiteFile

/// Tells what the values of a record are whose header does not say so, or not credibly.
///
/// All ways to cut the record's body into values are weighed: each costs what it distrusts of the header, and what
/// its values are unlike those of sound rows. A value is certain only where all readings that come near the best one
/// have the same; what a likely reading has otherwise is in doubt.
struct HeaderDeduction {
  /// A reading that costs so much more than the best one is not likely.
  static let margin = 13 * FieldHabits.bit / 2
  /// Fields that a record can have to be deduced.
  static let mostFields = 64

  /// A value of a reading.
  private struct Step: BitwiseCopyable {
    var field: Int32
    var cost: Int32
    /// Where it begins and ends in the body.
    var start: Int32
    var end: Int32
    var type: UInt64
    var isDistrusted: Bool
  }

  /// One field as the likely readings have it.
  struct Field: BitwiseCopyable {
    /// The type that all of them have; nil where they differ.
    var type: UInt64?
    /// Where all of them have it begin and end, from the start of the body on; nil where they differ.
    var start: Int?
    var end: Int?
    /// Whether a reading that is as good as the best distrusts the header here.
    var isDistrusted = false
  }

  /// What is asked about: the types of a header and the body behind it.
  struct Question {
    var types: ContiguousArray<UInt64>
    /// Where the body starts in the page, and its length.
    var body: Int
    var length: Int
    /// What it costs to distrust each type, in sixteenths of a bit.
    var distrust: ContiguousArray<Int>
    /// What it costs beside that when the value is as long as the header has it: a false type rarely is.
    var exchange: ContiguousArray<Int>
  }

  private(set) var fields: ContiguousArray<Field> = []
  /// What the best reading costs.
  private(set) var cost = 0

  private var steps: ContiguousArray<Step> = []
  private var forward: ContiguousArray<Int32> = []
  private var backward: ContiguousArray<Int32> = []
  /// Bytes of the body that the header gives to the fields from each one on.
  private var rest: ContiguousArray<Int> = []
  /// The least that distrust costs from each field on.
  private var cheapest: ContiguousArray<Int> = []
  private var work = 0

  /// Readings that cost more are none.
  private static let mostCost = 60 * FieldHabits.bit
  /// Work that one record may take.
  private static let mostWork = 1 << 17
  private static let mostSteps = 1 << 15
  private static let mostStates = 1 << 16
  private static let unreached = Int32(FieldHabits.impossible)

  /// Weighs the readings of a record.
  ///
  /// `budget`: the work that may still be done; what is done is taken from it.
  /// - Returns: whether there is an answer: at least one reading, and not more of them than can be weighed.
  mutating func weigh(
    _ question: Question, _ page: RawSpan, _ habits: FieldHabits, _ budget: inout Int
  ) -> Bool {
    let count = question.types.count
    guard count > 0, count <= Self.mostFields, question.length >= 0,
      (count + 1) * (question.length + 1) <= Self.mostStates
    else { return false }
    prepare(question)
    // What is rarely needed is looked at only when the likelier does not do.
    var bound = Self.margin + (cheapest.first ?? 0) + FieldHabits.bit
    while bound <= Self.mostCost {
      work = min(budget, Self.mostWork)
      let before = work
      let isDone = gather(question, page, habits, bound)
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
    rest = ContiguousArray(repeating: 0, count: count + 1)
    cheapest = ContiguousArray(repeating: FieldHabits.impossible, count: count + 1)
    for field in (0..<count).reversed() {
      // A length beyond the body is as good as any other.
      let length = min(RecordDecoder.length(ofType: question.types[field]), question.length + 1)
      rest[field] = min(rest[field + 1] + length, 1 << 30)
      cheapest[field] = min(cheapest[field + 1], question.distrust[field])
    }
  }

  // MARK: - Readings

  /// Finds all values that stand in readings which do not cost more than `bound`; false when that is too much work.
  private mutating func gather(
    _ question: Question, _ page: RawSpan, _ habits: FieldHabits, _ bound: Int
  ) -> Bool {
    let width = question.length + 1
    let count = question.types.count
    steps.removeAll(keepingCapacity: true)
    forward.removeAll(keepingCapacity: true)
    forward.append(contentsOf: repeatElement(Self.unreached, count: (count + 1) * width))
    forward[0] = 0
    work -= forward.count >> 4
    // Where the header adds up, two of its types must be false at once for a value to be longer or shorter; that they
    // add up all the same would be chance.
    let chance = rest[0] == question.length ? 2 * FieldHabits.bit : 0
    for field in 0..<count {
      for start in 0..<width where forward[field * width + start] < Self.unreached {
        let spent = Int(forward[field * width + start])
        let type = question.types[field]
        let length = RecordDecoder.length(ofType: type)
        let isReserved = type == 10 || type == 11
        if !isReserved, length <= question.length - start {
          let surprise = habits.surprise(field, type, page, question.body + start, length)
          work -= 1 + length
          add(field, spent, start, length, type, surprise, isDistrusted: false, width, bound)
        }
        let distrust = question.distrust[field]
        guard spent + distrust <= bound else { continue }
        addOthers(
          field, spent, start, type, distrust, isReserved ? -1 : length, chance, question, page,
          habits, bound)
        if work < 0 || steps.count > Self.mostSteps { return false }
      }
    }
    return true
  }

  /// Adds the values that a field may have other than the header says.
  ///
  /// `length`: that of the value by the header; less than 0 when its type is none.
  private mutating func addOthers(
    _ field: Int, _ spent: Int, _ start: Int, _ type: UInt64, _ distrust: Int, _ length: Int,
    _ chance: Int, _ question: Question, _ page: RawSpan, _ habits: FieldHabits, _ bound: Int
  ) {
    let width = question.length + 1
    let left = question.length - start
    let body = question.body + start
    let classes = habits.classes(field)
    let exchange = question.exchange[field]
    func price(_ other: Int) -> Int {
      distrust + (other == length ? exchange : length >= 0 ? chance : 0)
    }
    for other in 0...9 as ClosedRange<UInt64> where other != type {
      let size = RecordDecoder.length(ofType: other)
      guard size <= left, classes.contains(StorageClasses(serialType: other)) else { continue }
      work -= 1
      let surprise = habits.surpriseOfOther(field, other, page, body, size)
      add(
        field, spent, start, size, other, price(size) + surprise, isDistrusted: true, width, bound)
    }
    let most = min(left, habits.mostLength(field))
    if classes.contains(.text) {
      var look = FieldHabits.Look()
      var size = 0
      while size <= most {
        let other = UInt64(13 + 2 * size)
        if other != type {
          add(
            field, spent, start, size, other, price(size) + habits.surprise(field, size, look),
            isDistrusted: true, width, bound)
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
        add(
          field, spent, start, size, other, price(size) + surprise, isDistrusted: true, width,
          bound)
      }
    }
  }

  @inline(__always)
  private mutating func add(
    _ field: Int, _ spent: Int, _ start: Int, _ length: Int, _ type: UInt64, _ cost: Int,
    isDistrusted: Bool, _ width: Int, _ bound: Int
  ) {
    let total = spent + cost
    let end = start + length
    // What the header says of the fields behind must come out even, or one more is false.
    let ahead = end + rest[field + 1] == width - 1 ? 0 : cheapest[field + 1]
    guard total + ahead <= bound else { return }
    steps.append(
      Step(
        field: Int32(field), cost: Int32(cost), start: Int32(start), end: Int32(end), type: type,
        isDistrusted: isDistrusted))
    let place = (field + 1) * width + end
    if Int32(total) < forward[place] { forward[place] = Int32(total) }
  }

  // MARK: - Agreement

  /// Compares the readings that cost up to the margin more than the best.
  private mutating func judge(_ question: Question, _ best: Int) {
    let width = question.length + 1
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
