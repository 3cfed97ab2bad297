import CLibrary
public import Foundation

extension HostState {
  /// What this process knows about itself: whether it is an extension. All else is unknown.
  ///
  /// Only `UIApplication`, which extensions cannot use, says whether the app is in the background and whether protected
  /// data is available. Pass these values on from there.
  ///
  /// - Parameter bundle: The bundle of this process.
  /// - Returns: What is known.
  public static func ofThisProcess(bundle: URL = Bundle.main.bundleURL) -> HostState {
    HostState(isExtension: bundle.pathExtension == "appex")
  }

  /// The state, completed from the store's file. A protected file that may not be opened means that the device is
  /// locked; one that can be read, although locking the device protects it, means that the device is not locked. A
  /// value that the host set is not changed.
  ///
  /// - Parameters:
  ///   - openErrno: The error number of an attempt to read the file; 0 when that worked, nil when there was none.
  ///   - protection: The file's protection class; nil when it has none that is known.
  /// - Returns: The state with `isProtectedDataAvailable` set where it follows.
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
