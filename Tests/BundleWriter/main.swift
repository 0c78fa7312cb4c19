// Places, removes or sweeps apps in a process of its own, which others kill.
//
// Usage: bundle-writer place ROOT SOURCE | remove ROOT ID | sweep ROOT
import AppBundles
import Glibc

let arguments = Array(CommandLine.arguments.dropFirst())
guard arguments.count >= 2 else { exit(64) }
let installer = AppInstaller(root: arguments[1], isDevelopment: false)
do {
  switch arguments[0] {
  case "place": print(try installer.place(from: arguments[2]).path)
  case "remove": try installer.remove(arguments[2])
  default: installer.sweep()
  }
} catch {
  print(error)
  for finding in error.findings { print(" ", finding.text) }
  exit(1)
}
