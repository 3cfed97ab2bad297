// The system's C library under one name: the only place that knows which one there is.
#if canImport(Darwin)
  @_exported public import Darwin
#elseif canImport(Musl)
  @_exported public import CFiles
  @_exported public import Musl
#else
  @_exported public import CFiles
  @_exported public import Glibc
#endif
