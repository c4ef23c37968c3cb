//! THE SHELL. Feeds facts to the decision machine and carries out the actions it asks for.
