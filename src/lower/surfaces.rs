//! Image instructions to what the chips have: formatted stores and raw loads by byte address on GF100, addresses
//! computed with the surface units (SUCLAMP, SUBFM, SUEAU) on Kepler.
