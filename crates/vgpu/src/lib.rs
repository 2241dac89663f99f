//! A virtual NVIDIA Fermi or Kepler: push buffers and engines over nvir's emulator.
