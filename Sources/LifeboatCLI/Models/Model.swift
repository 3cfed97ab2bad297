import ArgumentParser

/// The command `lifeboat model`: the group of commands for models.
struct Model: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show, hash, identify, compare, plan and convert managed object models.",
    discussion: """
      A model is read from an .xcdatamodeld, .xcdatamodel, .momd, .mom or VersionInfo.plist; from a store, which carries \
      its model; or from a folder, app bundle, support bundle or other zip archive that holds one of these.
      """,
    subcommands: [
      ModelShow.self, ModelHash.self, ModelIdentify.self, ModelDiff.self, ModelPlan.self,
      ModelConvert.self,
    ])
}
