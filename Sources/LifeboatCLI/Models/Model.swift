import ArgumentParser

/// The command `lifeboat model`, which only groups its subcommands.
struct Model: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show, hash, identify, compare, plan and convert managed object models.",
    discussion: """
      Name anything that holds a model: .xcdatamodeld, .xcdatamodel, .momd, .mom, VersionInfo.plist, a folder or app \
      bundle with any of these, a store, which carries its own, or a support bundle or other zip with any of these \
      in it.
      """,
    subcommands: [
      ModelShow.self, ModelHash.self, ModelIdentify.self, ModelDiff.self, ModelPlan.self,
      ModelConvert.self,
    ])
}
