import CLibrary
import SQLiteFile
import StoreFiles
import SafeFiles

/// The state of a store's log and wal-index at one moment. Compared with the record of the last healthy open, a
/// snapshot shows whether the log has lost content.
///
/// Take a snapshot before the app opens the store, because closing the log or the wal-index later would drop SQLite's
/// locks on these files. Taking a snapshot reads a few hundred bytes and takes no lock.
struct LogSnapshot: Equatable {
  /// What was read from a log whose header is complete.
  struct Log: Equatable {
    var status: FileStatus
    var header: [UInt8]
    /// The 24-byte header of the frame that is the last one in the wal-index. Shorter or empty if the log ends before
    /// the end of that header.
    var lastFrame: [UInt8]

    var isSound: Bool { LostFrames.isSound(header: header) }
    var pageSize: Int { Int(Self.word(header, 8)) }
    var salts: [UInt8] { Array(header[16..<24]) }

    /// The number of whole frames in the file, valid or not.
    var frames: Int {
      Int(clamping: (status.sizeBytes - Int64(LostFrames.headerLength)) / Int64(24 + pageSize))
    }

    /// Whether the log ends in a partial frame. An interrupted write and a truncation of the log both leave a partial
    /// frame.
    var endsInPartialFrame: Bool {
      (status.sizeBytes - Int64(LostFrames.headerLength)) % Int64(24 + pageSize) != 0
    }

    /// Whether SQLite has restarted the log since the header of the log had the salts `salts`. Each restart increments
    /// the first salt.
    func follows(_ salts: [UInt8]) -> Bool {
      LogBasis.isNewer(Self.word(header, 16), than: Self.word(salts, 0))
    }

    static func word(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
      bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
  }

  var main: FileStatus?
  var log: Log?
  var index: LogIndexHeader?
  var indexStatus: FileStatus?

  /// Takes a snapshot of the store at `path`; nil when the state of its files cannot be read.
  init?(at path: String) { self.init(at: path, DatabaseFiles(at: path)) }

  /// Takes a snapshot of the store at `path`, whose `files` were just looked up; nil when their state cannot be read.
  init?(at path: String, _ files: DatabaseFiles) {
    guard files.isLogKnown else { return nil }
    main = files.main
    indexStatus = files.index
    if indexStatus?.kind == .file {
      index = LogIndexHeader(
        FileEvidence.firstBytes(of: path + "-shm", count: LogIndexHeader.length).bytes)
    }
    guard let status = files.log else { return }
    guard status.kind == .file else { return nil }
    var lastFrame: Int64?
    if let index, index.frames > 0 {
      lastFrame =
        Int64(LostFrames.headerLength) + Int64(index.frames - 1) * Int64(24 + index.pageSize)
    }
    guard let start = Self.starts(of: path + "-wal", lastFrame: lastFrame) else { return nil }
    if start.header.count == LostFrames.headerLength {
      log = Log(status: status, header: start.header, lastFrame: start.lastFrame)
    }
  }

  private static func starts(
    of path: String, lastFrame offset: Int64?
  ) -> (header: [UInt8], lastFrame: [UInt8])? {
    let descriptor = SystemCalls.openForReading(path)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    func bytes(_ count: Int, at offset: Int64) -> [UInt8] {
      SystemCalls.read(descriptor, at: offset, count: count).bytes
    }
    return (bytes(LostFrames.headerLength, at: 0), offset.map { bytes(24, at: $0) } ?? [])
  }
}

extension LogSnapshot {
  /// Returns the facts about the write-ahead log of the store at `path`. Returns nil when there is no log, and nothing
  /// shows that there was one.
  ///
  /// `header`: the header of the main file.
  /// `files`: the files of the store, looked up just before `header` was read; nil to look them up now.
  static func read(
    _ path: String, _ header: StoreEvidence.Header?, _ files: DatabaseFiles? = nil,
    settlingTime: Int64 = HealthyOpen.settlingTime
  ) -> StoreEvidence.WAL? {
    let files = files ?? DatabaseFiles(at: path)
    let record = HealthyOpen.read(for: path)
    var wal = files.log.map { StoreEvidence.WAL(sizeBytes: $0.kind == .file ? $0.sizeBytes : 0) }
    guard let first = LogSnapshot(at: path, files) else { return wal }
    if let log = first.log {
      wal?.isHeaderSound = log.isSound
      // Opening the store would silently drop the log's rows, so the log's frames are read first.
      if !log.isSound, let pageSize = header?.pageSize {
        wal?.lostFrames = try? LostFrames.count(inLogOf: path, pageSize: pageSize, validFrames: 0)
      }
    }
    // The classifier handles a main file that is missing or empty.
    guard let header, header.isMagicRight, let main = first.main else {
      return wal
    }
    var check = SilentLossCheck(
      snapshot: first, header: header, record: record, keptPages: wal?.lostFrames)
    check.run()
    // Another process may be changing the files, so a loss counts only if a second snapshot equals the first.
    if check.loss != nil || check.doubt != nil {
      if LogSnapshot(at: path) != first { return wal }
    }
    if check.loss != nil || check.doubt != nil || wal == nil && !check.agreeing.isEmpty {
      wal = wal ?? .init(sizeBytes: 0)
    }
    wal?.loss = check.loss
    wal?.doubt = check.loss == nil ? check.doubt : nil
    wal?.witnesses = check.agreeing
    let facts = first.facts(main, header, settlingTime)
    if facts != record { wal?.unrecorded = facts }
    return wal
  }

  /// Returns the record of a healthy open, which later launches compare with the log; nil when there is no log with a
  /// valid header.
  private func facts(
    _ main: FileStatus, _ header: StoreEvidence.Header, _ settlingTime: Int64
  ) -> HealthyOpen? {
    guard let log, log.isSound else { return nil }
    var frames = 0
    var unsaved = 0
    if let index, index.salts == log.salts, index.frames <= log.frames {
      frames = index.frames
      // A connection with its own wal-index (locking_mode=EXCLUSIVE) may have checkpointed the frames since. The main
      // file is then newer than the wal-index.
      if let time = indexStatus?.modified, main.changed < time, main.modified < time {
        unsaved = index.unsaved
      }
    }
    var now = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &now)
    let (seconds, overflow) = Int64(now.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
    let (age, carried) = (overflow ? 0 : seconds + Int64(now.tv_nsec))
      .subtractingReportingOverflow(main.modified)
    return HealthyOpen(
      main: .init(
        inode: main.inode, size: main.sizeBytes, modified: main.modified,
        changeCounter: header.changeCounter ?? 0, isSettled: !carried && age > settlingTime),
      log: .init(
        inode: log.status.inode, salts: HealthyOpen.salts(log.salts),
        frames: UInt32(clamping: frames), unsaved: UInt32(clamping: unsaved)))
  }
}

extension HealthyOpen {
  static func salts(_ bytes: [UInt8]) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}

/// Checks whether the log, the wal-index, or the record of the last healthy open proves or suggests a loss of committed
/// rows.
struct SilentLossCheck {
  let snapshot: LogSnapshot
  let header: StoreEvidence.Header
  let record: HealthyOpen?
  /// The number of pages whose newest content is only in the log, which SQLite ignores because the log's header is
  /// damaged. Nil when the pages were not counted.
  var keptPages: Int?
  /// The proven loss; nil when nothing proves a loss.
  private(set) var loss: SilentLoss?
  /// A loss that is possible but not proven; nil when nothing suggests a loss. A healthy store may show the same signs.
  private(set) var doubt: SilentLoss?
  /// The sources of evidence that were compared with the write-ahead log and show no lost rows.
  private(set) var agreeing: [SilentLoss.Witness] = []

  mutating func run() {
    checkLog()
    checkIndex()
    checkRecord()
    // Frames after the last one in the wal-index were never committed, so a partial frame there is no loss.
    if doubt?.witness == .log, agreeing.contains(.index) { doubt = nil }
  }

  /// Stores a loss of committed rows in ``loss`` if it is certain, otherwise in ``doubt``. If a loss is already stored
  /// there, it stays. The log is checked first, then the wal-index, then the record of the last healthy open.
  private mutating func found(
    _ kind: SilentLoss.Kind, _ witness: SilentLoss.Witness, frames: Int?, isCertain: Bool = true
  ) {
    let one = SilentLoss(
      kind: kind, witness: witness, frames: frames,
      keptPages: kind == .headerDamaged ? keptPages : nil)
    if isCertain { loss = loss ?? one } else { doubt = doubt ?? one }
  }

  private mutating func checkLog() {
    guard let log = snapshot.log else { return }
    if !log.isSound {
      if let keptPages, keptPages > 0 { found(.headerDamaged, .log, frames: nil) }
    } else if let pageSize = header.pageSize, log.pageSize != pageSize {
      found(.foreign, .log, frames: nil)
    } else if log.endsInPartialFrame {
      found(.cutShort, .log, frames: nil, isCertain: false)
    }
  }

  private mutating func checkIndex() {
    guard let index = snapshot.index, let main = snapshot.main, index.pageSize == header.pageSize,
      let indexTime = snapshot.indexStatus?.modified
    else { return }
    // A connection with its own wal-index (locking_mode=EXCLUSIVE) that checkpoints and closes leaves an old wal-index
    // behind. The main file is then newer than the wal-index.
    let isNewest = main.changed < indexTime && main.modified < indexTime
    let isCertain = isNewest && index.unsaved > 0
    let unsaved = isCertain ? index.unsaved : nil
    guard let log = snapshot.log else {
      if index.frames > index.saved, header.readVersion == 2 {
        found(.gone, .index, frames: unsaved, isCertain: isCertain)
      } else {
        agreeing.append(.index)
      }
      return
    }
    guard index.frames > 0 else { return }
    guard log.isSound else {
      if index.frames > index.saved {
        found(.headerDamaged, .index, frames: unsaved, isCertain: isCertain)
      }
      return
    }
    guard log.salts == index.salts else {
      if index.frames > index.saved, !log.follows(index.salts) {
        found(.foreign, .index, frames: unsaved, isCertain: isCertain)
      }
      return
    }
    // Between two restarts a log never gets shorter, so missing frames prove a loss, whatever the modification time of
    // the main file is. But a connection with its own wal-index may have checkpointed frames since, which changes the
    // main file. Such frames are not lost, so the number of lost frames is then unknown.
    if log.frames < index.frames {
      let lost = index.frames - max(log.frames, index.perhapsSaved)
      found(.cutShort, .index, frames: isNewest && lost > 0 ? lost : nil, isCertain: lost > 0)
    } else if log.lastFrame.count < 24 || Array(log.lastFrame[16..<24]) != index.checksum
      || Array(log.lastFrame[8..<16]) != index.salts
    {
      found(
        .cutShort, .index, frames: isNewest && index.unsaved > 0 ? 1 : nil,
        isCertain: index.unsaved > 0)
    } else {
      agreeing.append(.index)
    }
  }

  private mutating func checkRecord() {
    guard let record, let main = snapshot.main else { return }
    let isSame =
      record.main.isSettled && main.inode == record.main.inode
      && main.sizeBytes == record.main.size && main.modified == record.main.modified
      && header.changeCounter == record.main.changeCounter
    // A missing log is no loss if a later checkpoint has changed the main file, or if the content of all frames was in
    // the main file already.
    let mustBeThere = isSame && record.log.unsaved > 0
    let frames = Int(record.log.frames)
    guard let log = snapshot.log else {
      if mustBeThere { found(.gone, .record, frames: Int(record.log.unsaved)) }
      return
    }
    guard log.isSound else {
      if mustBeThere { found(.headerDamaged, .record, frames: Int(record.log.unsaved)) }
      return
    }
    guard HealthyOpen.salts(log.salts) == record.log.salts else {
      let before = (0..<8).map { UInt8(truncatingIfNeeded: record.log.salts >> (56 - 8 * $0)) }
      if mustBeThere, !log.follows(before) {
        found(.foreign, .record, frames: Int(record.log.unsaved))
      }
      return
    }
    if log.frames < frames {
      let lost = frames - max(log.frames, frames - Int(record.log.unsaved))
      let isCertain = isSame && lost > 0
      found(.cutShort, .record, frames: isCertain ? lost : nil, isCertain: isCertain)
    } else if main.inode != record.main.inode, log.status.inode == record.log.inode {
      found(.foreign, .record, frames: nil)
    } else if frames > 0 {
      agreeing.append(.record)
    }
  }
}
