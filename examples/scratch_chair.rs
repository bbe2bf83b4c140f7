fn main() {
    let t = std::time::Instant::now();
    let dir = std::env::args().nth(1).unwrap();
    println!(
        "{:?} {:?}",
        assetfs::engine::sample::write_chair(dir.as_ref()).unwrap(),
        t.elapsed()
    );
}
