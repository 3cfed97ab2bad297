import CLibrary
public import Foundation

extension HostState {
  /// The state of this process, as far as the process itself can tell: whether it is an extension. All else is unknown.
  ///
  /// Only `UIApplication` knows whether the app is in the background and whether protected data is available, and
  /// extensions cannot use it. So set these two values yourself.
  ///
  /// - Parameter bundle: The URL of the process's bundle. The bundle of an extension has the path extension `appex`.
  /// - Returns: A state in which only ``isExtension`` is set.
  public static func ofThisProcess(bundle: URL = Bundle.main.bundleURL) -> HostState {
    HostState(isExtension: bundle.pathExtension == "appex")
  }

  /// The state, with ``isProtectedDataAvailable`` set if the store's file shows it. A protected file that may not be
  /// opened shows that the device is locked. A file that is protected whenever the device is locked shows, if it can be
  /// read, that the device is not locked. A value that the host has set is not changed.
  ///
  /// - Parameters:
  ///   - openErrno: The error number of an attempt to read the file; 0 when that worked, nil when there was none.
  ///   - protection: The file's protection class; nil when unknown.
  /// - Returns: The state, with `isProtectedDataAvailable` set where the file shows it.
  func completed(openErrno: Int32?, protection: FileProtectionType?) -> HostState {
    guard isProtectedDataAvailable == nil, let openErrno, let protection, protection != .none else {
      return self
    }
    var state = self
    switch openErrno {
    case EPERM, EACCES: state.isProtectedDataAvailable = false
    case 0 where protection == .complete: state.isProtectedDataAvailable = true
    default: break
    }
    return state
  }

  /// The protection class of a file, read without opening it; nil where there is none, as on Linux.
  static func protection(ofFileAt path: String) -> FileProtectionType? {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    return attributes?[.protectionKey] as? FileProtectionType
  }
}
