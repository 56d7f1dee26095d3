//! Layers of tests that must notice planted bugs.

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Layer {
    Unit,
    Sim,
    Loom,
}

impl Layer {
    pub(crate) const ALL: [Layer; 3] = [Layer::Unit, Layer::Sim, Layer::Loom];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Layer::Unit => "unit",
            Layer::Sim => "sim",
            Layer::Loom => "loom",
        }
    }

    pub(crate) fn noun(self) -> &'static str {
        match self {
            Layer::Unit => "test",
            Layer::Sim => "oracle",
            Layer::Loom => "model",
        }
    }

    pub(crate) fn of_name(name: &str) -> Option<Layer> {
        Layer::ALL.into_iter().find(|layer| layer.name() == name)
    }
}
