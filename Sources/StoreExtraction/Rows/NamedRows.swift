import CoreDataStore
import ObjectModel
import RowText
import SQLiteFile
import SafeText

/// A destination of written rows: a file, the standard output, or memory.
final class RowTarget {
  var output: OutputBuffer
  var rowCount = 0

  init(_ output: consuming OutputBuffer) { self.output = output }
}

/// Writes the rows of a table with the entity and property names of the model, directly from the records of the table.
final class NamedRows: RecordReceiver {
  private let plan: RowPlan
  private let options: RowOutput.Options
  /// How the rows of each known entity are written. The last element says how the rows of unknown entities are written.
  private let entities: [EntityRendering]
  private let places: [Int64: Int]
  /// Whether the row limit in `options` applies to each ``RowTarget`` separately. If false, the limit applies to all
  /// rows together.
  private let limitsTargets: Bool
  /// Makes the target for rows of unknown entities when the first such row comes; nil if these rows are not wanted.
  private let unknownTarget: (() throws -> RowTarget)?
  /// Called with the name of each external file that a row names, and with the row's entity or table.
  private let noteExternal: ((_ file: String, _ entity: String) -> Void)?
  private var state: State
  // Tokens take up to sixteen times the space of the values in a page, so blocks are smaller with redaction.
  let blockBytes: Int
  /// Whether this receiver gets only a part of the rows, and was made by ``another()``. The receiver that made it takes
  /// over its rows.
  private let isPart: Bool

  /// The state that changes from row to row. It is one struct, so that it is accessed only once for each row.
  private struct State: ~Copyable {
    var sink: NamedRowSink
    /// For each entity, in the order of `entities`, the target that its rows are written to; nil for an entity whose
    /// rows are not wanted.
    var targets: [RowTarget?] = []
    /// The target whose rows the sink is writing now.
    var target: RowTarget?
    var targetRowCount = 0
    /// The index in `entities` of the entity to which the last row belongs; -1 before the first row.
    var place = -1
    var number: Int64?
    var layout = RowLayout()
    var rowCount = 0
    /// The number of rows of unknown entities, by entity number; nil stands for rows without an entity number.
    var unknownNumbers: [Int64?: Int] = [:]
    /// The external files that the rows of a block name, each with the row's entity or table.
    var externals: [(file: String, entity: String)] = []
    /// The error that occurred when the target for rows of unknown entities was made; nil without an error.
    var failure: (any Error)?
    var hasBroken = false

    init(_ sink: consuming NamedRowSink) { self.sink = sink }

    /// Sets the target of the rows that follow. The sink returns its output buffer to the last target and takes the
    /// buffer of `target`. If `target` is nil, the sink takes no buffer.
    mutating func write(to target: RowTarget?) {
      guard self.target !== target else { return }
      if let last = self.target {
        if sink.isBroken { hasBroken = true }
        sink.exchange(with: &last.output)
        last.rowCount = targetRowCount
      }
      self.target = target
      if let target {
        sink.exchange(with: &target.output)
        targetRowCount = target.rowCount
      }
    }

    var isBroken: Bool { hasBroken || sink.isBroken }

    func wantsMore(below limit: Int) -> Bool { failure == nil && !isBroken && rowCount < limit }
  }

  /// Prepares to write the rows of a table.
  ///
  /// - Parameters:
  ///   - plan: how the columns of the table become properties.
  ///   - store: the store, which knows the names of entities.
  ///   - form: the form of the rows.
  ///   - options: how binary values and CSV are written, and the limit.
  ///   - shared: the columns of a CSV with several entities; nil for other output.
  ///   - redaction: the rules for replacing values and names; nil to write them as they are.
  ///   - limitsTargets: whether the limit applies to each target separately and not to all rows together.
  ///   - noteExternal: called with the name of each external file that a row names, and with the row's entity or table.
  ///   - unknownTarget: makes the target for rows of unknown entities when the first such row comes, unless `target`
  ///     has returned one. If `unknownTarget` is nil, these rows are left out.
  ///   - target: returns the target for the rows of an entity, or for rows of unknown entities if `entity` is nil. Rows
  ///     without a target are left out.
  init(
    _ plan: RowPlan, of store: CoreDataStore, as form: NamedRowSink.Form,
    _ options: RowOutput.Options, in shared: SharedColumns? = nil,
    _ redaction: RowRedaction? = nil, limitsTargets: Bool = false,
    noteExternal: ((_ file: String, _ entity: String) -> Void)? = nil,
    unknownTarget: (() throws -> RowTarget)? = nil,
    target: (_ entity: RowPlan.EntityPlan?, _ number: Int64?) -> RowTarget?
  ) {
    self.plan = plan
    self.options = options
    self.limitsTargets = limitsTargets
    self.noteExternal = noteExternal
    self.unknownTarget = unknownTarget
    let numbered = plan.entities.sorted { $0.key < $1.key }
    entities =
      numbered.map { EntityRendering($0.value, plan, store.entityNames, in: shared, redaction) }
      + [EntityRendering(unknownEntitiesOf: plan, in: shared, redaction)]
    places = Dictionary(firstOf: numbered.enumerated().map { ($1.key, $0) })
    state = State(
      NamedRowSink(
        form, storePath: store.database.path, blobs: options.blobs, csv: options.csv,
        dates: options.excel?.dates, tokens: redaction?.tokens))
    blockBytes = redaction == nil ? 1 << 20 : 1 << 18
    isPart = false
    state.targets = numbered.map { target($0.value, $0.key) } + [target(nil, nil)]
  }

  /// Creates a receiver for a part of the rows that `whole` receives. `whole` later takes over the rendered rows.
  private init(partOf whole: NamedRows) {
    plan = whole.plan
    options = whole.options
    entities = whole.entities
    places = whole.places
    limitsTargets = false
    unknownTarget = whole.unknownTarget == nil ? nil : { RowTarget(.ofBlock()) }
    noteExternal = nil
    blockBytes = whole.blockBytes
    isPart = true
    state = State(NamedRowSink(like: whole.state.sink))
    // If entities share a target, they share the corresponding target of this receiver, too, so that their rows stay in
    // order.
    var parts: [ObjectIdentifier: RowTarget] = [:]
    for case let target? in whole.state.targets where parts[ObjectIdentifier(target)] == nil {
      parts[ObjectIdentifier(target)] = RowTarget(.ofBlock())
    }
    state.targets = whole.state.targets.map { $0.flatMap { parts[ObjectIdentifier($0)] } }
  }

  /// Writes the rows of the table. Adds problems with rows to the store's findings. `progress` counts the rows.
  func read(from store: CoreDataStore, _ progress: RowProgress? = nil) throws {
    let receiver = progress?.watching(self) ?? self
    let result = Result { try store.database.read(plan.table, by: receiver) }
    state.write(to: nil)
    store.note(state.unknownNumbers, in: plan.table)
    try result.get()
    if let failure = state.failure { throw failure }
  }

  // MARK: - Receiving

  var wantsMore: Bool { state.wantsMore(below: limitsTargets ? .max : options.limit ?? .max) }
  var isBroken: Bool { state.isBroken }

  func take(
    _ record: RawSpan, rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder
  ) -> RecordDecoder.Defect? {
    if let defect = decoder.open(record) { return defect }
    let number = plan.entityNumber(of: record, rowID: rowID, layout, decoder)
    take(record, rowID, number, &decoder, &state)
    return nil
  }

  private func take(
    _ record: RawSpan, _ rowID: Int64?, _ number: Int64?, _ decoder: inout RecordDecoder,
    _ state: inout State
  ) {
    if state.place < 0 || number == nil || number != state.number { turn(to: number, &state) }
    if state.place == entities.count - 1 { state.unknownNumbers[number, default: 0] += 1 }
    guard state.target != nil, !isFull(state.targetRowCount) else {
      var nothing = NoSink()
      return decoder.emit(record, rowID: rowID, layout: state.layout, into: &nothing)
    }
    state.sink.begin(isFirst: state.targetRowCount == 0)
    decoder.emit(record, rowID: rowID, layout: state.layout, into: &state.sink)
    state.targetRowCount += 1
    state.rowCount += 1
    guard !state.sink.externals.isEmpty else { return }
    let entity = entities[state.place].name ?? plan.table.name
    for file in state.sink.externals {
      if let noteExternal {
        noteExternal(file, entity)
      } else if isPart {
        state.externals.append((file, entity))
      }
    }
    state.sink.externals.removeAll()
  }

  /// Switches the output to the entity with the entity number `number`, for the rows that follow.
  private func turn(to number: Int64?, _ state: inout State) {
    state.number = number
    let place = number.flatMap { places[$0] } ?? entities.count - 1
    if place == entities.count - 1, state.failure == nil { makeTarget(at: place, &state) }
    state.place = place
    state.layout = entities[place].layout
    state.sink.turn(to: entities[place], number: number)
    state.write(to: state.targets[place])
  }

  /// Makes the target at the index `place`, for rows of unknown entities. Does nothing if the target exists.
  private func makeTarget(at place: Int, _ state: inout State) {
    guard state.targets[place] == nil else { return }
    do { state.targets[place] = try unknownTarget?() } catch { state.failure = error }
  }

  private func isFull(_ rowCount: Int) -> Bool {
    guard limitsTargets, let limit = options.limit else { return false }
    return rowCount >= limit
  }

  // MARK: - Blocks

  /// The maximum number of targets at which rows are read in blocks. Each block needs a buffer for each target.
  private static let maxBlockTargets = 32

  // Blocks cannot be used for one JSON object, whose rows need separators, or with a limit, which needs a single count.
  var takesBlocks: Bool {
    options.limit == nil && state.sink.form != .json(.object)
      && Set(state.targets.compactMap { $0.map(ObjectIdentifier.init) }).count
        <= Self.maxBlockTargets
  }

  func another() -> any RecordReceiver { NamedRows(partOf: self) }

  func take(from other: any RecordReceiver) {
    guard let other = other as? NamedRows else { return }
    state.write(to: nil)
    state.place = -1
    other.state.write(to: nil)
    other.state.place = -1
    for place in entities.indices {
      guard let part = other.state.targets[place], part.rowCount > 0 else { continue }
      makeTarget(at: place, &state)
      guard let target = state.targets[place] else { continue }
      target.output.append(movingFrom: &part.output)
      target.rowCount += part.rowCount
      if target.output.isBroken { state.hasBroken = true }
      part.rowCount = 0
    }
    state.rowCount += other.state.rowCount
    other.state.rowCount = 0
    state.unknownNumbers.merge(other.state.unknownNumbers, uniquingKeysWith: +)
    other.state.unknownNumbers = [:]
    for (file, entity) in other.state.externals { noteExternal?(file, entity) }
    other.state.externals = []
    if let failure = other.state.failure { state.failure = failure }
  }
}

extension RowPlan {
  /// Returns the entity number in the record that the decoder has opened; nil if the value is not an integer.
  func entityNumber(
    of record: RawSpan, rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: borrowing RecordDecoder
  ) -> Int64? {
    guard let entityColumn else { return nil }
    return decoder.integer(entityColumn, of: record, rowID: rowID, layout: layout)
  }
}

/// Drops all values. Used if a record is decoded only so that the decoder counts the record's defects.
struct NoSink: RowSink {
  let wantsMore = true
  mutating func beginRow(_ rowID: Int64?) {}
  mutating func null() {}
  mutating func integer(_ value: Int64) {}
  mutating func real(_ value: Double) {}
  mutating func text(_ bytes: RawSpan) {}
  mutating func blob(_ bytes: RawSpan) {}
  mutating func endRow() {}
}
