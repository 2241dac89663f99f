//! TGSI text.
