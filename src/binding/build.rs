//! Tells the linker what a Node addon needs, and where the addon's libraries lie: beside it.

fn main() {
  napi_build::setup();
  if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
    println!("cargo:rustc-link-arg-cdylib=-Wl,-rpath,$ORIGIN");
    // Threads of the engine may outlive the environment that loaded the addon.
    println!("cargo:rustc-link-arg-cdylib=-Wl,-z,nodelete");
  }
}
