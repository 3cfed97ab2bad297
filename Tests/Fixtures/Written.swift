import Foundation

/// Returns the bytes that `write` writes to the open file descriptor that it is given. The descriptor is closed
/// afterwards.
public func bytesWritten(by write: (Int32) throws -> Void) throws -> [UInt8] {
  let folder = try TemporaryFolder()
  let file = folder.url.appendingPathComponent("out")
  try Data().write(to: file)
  let handle = try FileHandle(forWritingTo: file)
  defer { try? handle.close() }
  try write(handle.fileDescriptor)
  return try bytes(of: file)
}
