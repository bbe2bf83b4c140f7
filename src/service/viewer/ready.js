// The meshopt decoder is part of model-viewer; it only waits for a script to have loaded.
