import Dispatch

/// Hands out blocks of work to several threads, and lets them write what they made of each in the order of blocks.
///
/// Blocks are taken in their order, so whoever has the turn is at work, and nobody waits for a thread that has not begun.
final class BlockTurns: @unchecked Sendable {
  private let gate = DispatchQueue(label: "blocks")
  /// One for each block that can be at work. A block's turn comes when the one before it has passed.
  private let turns: [DispatchSemaphore]
  private let blockCount: Int
  private var next = 0
  private var hasStopped = false

  init(blockCount: Int, workerCount: Int) {
    self.blockCount = blockCount
    turns = (0..<workerCount).map { _ in DispatchSemaphore(value: 0) }
    turns[0].signal()
  }

  /// The next block; nil when there is none, or no further one is wanted. Who has taken one must pass on its turn.
  fileprivate func take() -> Int? {
    gate.sync {
      guard next < blockCount, !hasStopped else { return nil }
      next += 1
      return next - 1
    }
  }

  /// Waits until all blocks before this one have passed. To be called once for each block.
  fileprivate func wait(for block: Int) { turns[block % turns.count].wait() }

  /// Gives the turn to the next block.
  fileprivate func pass(_ block: Int) { turns[(block + 1) % turns.count].signal() }

  /// Ends the work: what follows the block that has the turn is not wanted.
  fileprivate func stop() { gate.sync { hasStopped = true } }

  /// Whether somebody has stopped.
  fileprivate var isStopped: Bool { gate.sync { hasStopped } }
}

/// One thread's place among the blocks. Only that thread touches it.
final class BlockTurn: @unchecked Sendable {
  private let turns: BlockTurns
  private var block = 0
  private var hasCome = false

  init(_ turns: BlockTurns) { self.turns = turns }

  /// Takes the next block, as ``BlockTurns/take()``.
  func take() -> Int? {
    guard let next = turns.take() else { return nil }
    block = next
    hasCome = false
    return next
  }

  /// Waits until the turn is this block's; false when what it has to say is not wanted any more.
  func come() -> Bool {
    if !hasCome { turns.wait(for: block) }
    hasCome = true
    return !turns.isStopped
  }

  /// Ends the work of all with this block, which must have its turn.
  func stop() { turns.stop() }

  /// Gives the turn to the next block.
  func pass() { turns.pass(block) }
}
