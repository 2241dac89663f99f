//! The paths of the devices: nodes and what sysfs says of them.

use libc::{dev_t, makedev};

/// The major number of DRM devices.
const MAJOR: u32 = 226;
/// The minor number of the first render node.
const FIRST_MINOR: u32 = 128;

/// What a path is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Node {
    /// The device's node.
    Device(u32),
    /// A folder with these entries.
    Folder(Vec<String>),
    File(String),
    /// A symbolic link.
    Link(&'static str),
}

impl Node {
    /// Type and permissions, as in `st_mode`.
    pub(crate) fn mode(&self) -> u32 {
        match self {
            Node::Device(_) => libc::S_IFCHR | 0o666,
            Node::Folder(_) => libc::S_IFDIR | 0o755,
            Node::File(_) => libc::S_IFREG | 0o444,
            Node::Link(_) => libc::S_IFLNK | 0o777,
        }
    }

    /// Bytes, as in `st_size`.
    pub(crate) fn size(&self) -> usize {
        match self {
            Node::File(text) => text.len(),
            Node::Link(to) => to.len(),
            Node::Device(_) | Node::Folder(_) => 0,
        }
    }

    /// Of a device.
    pub(crate) fn device_number(&self) -> dev_t {
        match self {
            Node::Device(card) => makedev(MAJOR, FIRST_MINOR + card),
            _ => 0,
        }
    }

    /// A number that no other node has; all that opens the same device must find the same.
    pub(crate) fn inode(&self, path: &[u8]) -> u64 {
        match self {
            Node::Device(card) => 0x6e76_6972_0000 + u64::from(*card),
            _ => path
                .iter()
                .fold(0xcbf2_9ce4_8422_2325, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)),
        }
    }
}

/// Whether a path might be one of ours: a cheap question, asked for every path that the program uses.
pub(crate) fn may_hold(path: &[u8]) -> bool {
    path.starts_with(b"/dev/dri") || path.starts_with(b"/sys/dev/char/226:")
}

/// What a path is if there are so many cards. None: not ours. `/dev/dri` may hold more than is said here.
pub(crate) fn find(path: &[u8], cards: u32) -> Option<Node> {
    if !may_hold(path) {
        return None;
    }
    let path = std::str::from_utf8(path).ok()?;
    let mut parts = path.split('/').filter(|p| !p.is_empty() && *p != ".").skip(1);
    if path.starts_with("/dev/") {
        parts.next().filter(|p| *p == "dri")?;
        return match (parts.next(), parts.next()) {
            (None, _) => Some(Node::Folder((0..cards).map(node_name).collect())),
            (Some(name), None) => (0..cards).find(|c| node_name(*c) == name).map(Node::Device),
            _ => None,
        };
    }
    let number = parts.nth(2)?; // after dev, char
    let card = (0..cards).find(|c| number == format!("{MAJOR}:{}", FIRST_MINOR + c))?;
    let folder = |names: &[&str]| Some(Node::Folder(names.iter().map(|s| s.to_string()).collect()));
    let file = |text: &str| Some(Node::File(text.to_string()));
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (None, ..) => folder(&["dev", "device", "uevent"]),
        (Some("dev"), None, ..) => Some(Node::File(format!("{number}\n"))),
        (Some("uevent"), None, ..) => Some(Node::File(format!(
            "MAJOR={MAJOR}\nMINOR={}\nDEVNAME=dri/{}\nDEVTYPE=drm_minor\n",
            FIRST_MINOR + card,
            node_name(card)
        ))),
        (Some("device"), None, ..) => folder(&[
            "device",
            "drm",
            "revision",
            "subsystem",
            "subsystem_device",
            "subsystem_vendor",
            "uevent",
            "vendor",
        ]),
        (Some("device"), Some("drm"), None, _) => Some(Node::Folder(vec![node_name(card)])),
        (Some("device"), Some("drm"), Some(name), None) if name == node_name(card) => {
            folder(&["dev", "uevent"])
        }
        (Some("device"), Some("subsystem"), None, _) => Some(Node::Link("../../../bus/pci")),
        (Some("device"), Some(name), None, _) => match name {
            // A GK110's PCI identity: the driver asks the card for its chip, not the bus.
            "vendor" => file("0x10de\n"),
            "device" => file("0x1004\n"),
            "revision" => file("0x00\n"),
            "subsystem_vendor" => file("0x1028\n"),
            "subsystem_device" => file("0x075b\n"),
            "uevent" => Some(Node::File(format!(
                "DRIVER=nouveau\nPCI_CLASS=30000\nPCI_ID=10DE:1004\nPCI_SUBSYS_ID=1028:075B\nPCI_SLOT_NAME={}\n\
                 MODALIAS=pci:v000010DEd00001004sv00001028sd0000075Bbc03sc00i00\n",
                slot(card)
            ))),
            _ => None,
        },
        _ => None,
    }
}

/// A card's node in `/dev/dri`.
pub(crate) fn node_name(card: u32) -> String {
    format!("renderD{}", FIRST_MINOR + card)
}

/// A card's place on the bus.
pub(crate) fn slot(card: u32) -> String {
    format!("0000:{:02x}:00.0", card + 1)
}
