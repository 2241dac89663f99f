//! Instruction order and issue timing.
//!
//! | file | what |
//! | --- | --- |
//! | [`order`] | list scheduling of straight code |
//! | [`texbar`] | barriers for texture results, on Kepler |
//! | `tables` | what is known of a block before it is scheduled |
//! | `list` | an order while it is being made |
//! | `ready` | candidates for its next place |
//! | `liveness` | which registers are read later |
//! | `live_ranges` | what a block keeps in registers, apart from which registers they are |
//! | `guards` | predicated writes that are as good as whole ones |
//! | `free_list` | which registers are free while a block is scheduled |
//! | `graph` | which instructions keep their order, and how far apart |
//! | `nvir_asm::model` | what an instruction waits for: results, held sources, ports |
//! | `nvir_asm::issue_class` | which instructions need the same ports and pair with the same others |
//! | `nvir_asm::issue` | Kepler's issue control: how long after an instruction the next one may issue |
//! | `nvir_asm::check` | finished code against the rules of issue control |

mod free_list;
mod graph;
mod guards;
mod list;
mod live_ranges;
mod liveness;
pub(crate) mod order;
mod ready;
mod tables;
pub(crate) mod texbar;
