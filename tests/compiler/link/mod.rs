//! Functions compiled separately and linked, against the same functions compiled as one program; what each world may assume; and
//! everything that a linker refuses.

mod damage;
mod facts;
mod refused;
mod rig;
mod tools;
mod values;
