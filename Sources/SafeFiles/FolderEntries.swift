import CLibrary

package struct FolderEntries: Sendable, Equatable {
  /// The names in UTF-8, except "." and "..", in the order in which the system returned them.
  package let names: [String]
  /// Whether ``names`` is incomplete, because the folder has more names than the limit or because a name is not UTF-8.
  package let isCut: Bool
  /// The bytes of the first name that is not UTF-8; nil when all names are UTF-8.
  package let strangeName: [UInt8]?

  /// Returns a message that says why ``names`` lacks entries of `folder`, and what to do about it. Nil when ``names``
  /// is complete.
  package func problem(in folder: String) -> String? {
    guard isCut else { return nil }
    guard let strangeName else {
      return "\(folder) holds too many files to list; move some away and try again"
    }
    let bytes = strangeName.map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }
    return "\(folder) holds a file with a name that is not UTF-8 "
      + "(bytes \(bytes.joined(separator: " "))); rename that file and try again"
  }

  /// Reads at most `limit` names of `folder`, which must not be a symbolic link.
  package static func read(_ folder: String, limit: Int) throws(SystemCallError) -> FolderEntries {
    let descriptor = try SystemCalls.opened(SystemCalls.openFolder(folder, in: AT_FDCWD), folder)
    return try read(descriptor: descriptor, path: folder, limit: limit)
  }

  /// Reads at most `limit` names from the open folder `descriptor`, and closes `descriptor`.
  package static func read(
    descriptor: Int32, path folder: String, limit: Int
  ) throws(SystemCallError) -> FolderEntries {
    var names: [String] = []
    var isCut = false
    var strangeName: [UInt8]?
    try forEachName(descriptor: descriptor, path: folder) { bytes in
      let name = String(decoding: bytes, as: UTF8.self)
      if !name.utf8.elementsEqual(bytes) {
        isCut = true
        strangeName = strangeName ?? bytes
      } else if names.count < limit {
        names.append(name)
      } else {
        isCut = true
        return false
      }
      return true
    }
    return FolderEntries(names: names, isCut: isCut, strangeName: strangeName)
  }

  /// Calls `body` with the bytes of each name in the open folder `descriptor`, except "." and "..", until `body`
  /// returns false. Then closes `descriptor`.
  package static func forEachName(
    descriptor: Int32, path folder: String, _ body: ([UInt8]) -> Bool
  ) throws(SystemCallError) {
    guard let stream = unsafe fdopendir(descriptor) else {
      let code = errno
      close(descriptor)
      throw SystemCallError(call: "fdopendir", path: folder, errno: code)
    }
    defer { unsafe _ = closedir(stream) }
    while true {
      errno = 0
      guard let entry = unsafe readdir(stream) else {
        if errno != 0 { throw SystemCallError(call: "readdir", path: folder, errno: errno) }
        return
      }
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { field in
        unsafe field.withMemoryRebound(to: UInt8.self, capacity: 1) { start in
          unsafe [UInt8](UnsafeBufferPointer(start: start, count: strlen(field)))
        }
      }
      if name != [0x2e], name != [0x2e, 0x2e], !body(name) { return }
    }
  }
}
