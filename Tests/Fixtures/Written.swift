import Foundation

/// What something writes to an open file descriptor, which is closed afterwards.
public func bytesWritten(by write: (Int32) throws -> Void) throws -> [UInt8] {
  let folder = try TemporaryFolder()
  let file = folder.url.appendingPathComponent("out")
  try Data().write(to: file)
  let handle = try FileHandle(forWritingTo: file)
  defer { try? handle.close() }
  try write(handle.fileDescriptor)
  return try bytes(of: file)
}
