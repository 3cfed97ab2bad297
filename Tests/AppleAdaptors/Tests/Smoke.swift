import CoreData
import Testing
@testable import StoreRecovery
