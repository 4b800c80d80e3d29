//! What the machine offers beyond the loaded modules, as JavaScript objects.

use local_inference_core::hardware;
use napi_derive::napi;

use crate::numbers::number;
use crate::promise::blocking;

#[napi(object, object_from_js = false)]
pub struct AcceleratorDevice {
  pub name: String,
  pub memory_total: f64,
}

#[napi(object, object_from_js = false)]
pub struct Accelerator {
  #[napi(ts_type = "\"cuda\" | \"vulkan\" | \"metal\"")]
  pub backend: &'static str,
  pub available: bool,
  pub version: Option<String>,
  pub devices: Vec<AcceleratorDevice>,
  pub reason: Option<String>,
}

#[napi(object, object_from_js = false)]
pub struct PowerState {
  pub on_battery: Option<bool>,
  pub battery_percent: Option<u32>,
  pub temperature: Option<f64>,
}

/// Accelerators that this machine has, whether or not a module for them is installed. Loads the drivers' libraries.
#[napi]
pub async fn accelerators() -> napi::Result<Vec<Accelerator>> {
  let found = blocking(|| Ok(hardware::accelerators())).await?;
  let device = |device: hardware::AcceleratorDevice| AcceleratorDevice {
    name: device.name,
    memory_total: number(device.memory_total),
  };
  let convert = |found: hardware::Accelerator| Accelerator {
    backend: found.backend,
    available: found.available,
    version: found.version,
    devices: found.devices.into_iter().map(device).collect(),
    reason: found.reason,
  };
  Ok(found.into_iter().map(convert).collect())
}

/// Battery and temperature of the moment, where the system tells.
#[napi]
pub async fn power_state() -> napi::Result<PowerState> {
  let state = blocking(|| Ok(hardware::power_state())).await?;
  Ok(PowerState {
    on_battery: state.on_battery,
    battery_percent: state.battery_percent.map(u32::from),
    temperature: state.temperature.map(f64::from),
  })
}
