//! Populations as one index: the states from no customer to all customers of each closed class.

/// All vectors from zero to a population, in mixed-radix order: the last class changes fastest, so an index minus the index of a smaller
/// vector is the index of their difference.
#[derive(Clone, Debug)]
pub(super) struct Lattice {
    /// Customers by class.
    pub(super) population: Vec<usize>,
    /// Index distance of one customer, by class.
    pub(super) strides: Vec<usize>,
    /// Number of states.
    pub(super) states: usize,
}

impl Lattice {
    /// Creates the lattice of a population; `None` if its states do not fit an index.
    pub(super) fn new(population: &[usize]) -> Option<Lattice> {
        let mut strides = vec![0; population.len()];
        let mut states = 1_usize;
        for (stride, most) in strides.iter_mut().zip(population).rev() {
            *stride = states;
            states = states.checked_mul(most.checked_add(1)?)?;
        }
        Some(Lattice { population: population.to_vec(), strides, states })
    }

    /// Sets `vector` to the next state.
    pub(super) fn advance(&self, vector: &mut [usize]) {
        for (digit, most) in vector.iter_mut().zip(&self.population).rev() {
            if *digit < *most {
                *digit += 1;
                return;
            }
            *digit = 0;
        }
    }

    /// Returns every vector whose entries sum to at most `total`, with its index, in order of that sum.
    pub(super) fn up_to(&self, total: usize) -> Vec<(Vec<usize>, usize)> {
        let mut found = Vec::new();
        let mut vector = vec![0; self.population.len()];
        self.collect(0, total, &mut vector, &mut found);
        found
    }

    fn collect(&self, class: usize, left: usize, vector: &mut Vec<usize>, found: &mut Vec<(Vec<usize>, usize)>) {
        if class == vector.len() {
            let index = vector.iter().zip(&self.strides).map(|(digit, stride)| digit * stride).sum();
            found.push((vector.clone(), index));
            return;
        }
        for digit in 0..=left.min(self.population[class]) {
            vector[class] = digit;
            self.collect(class + 1, left - digit, vector, found);
        }
        vector[class] = 0;
    }
}
