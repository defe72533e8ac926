// A program as people write it in Rust: arguments, a tree of files, errors, standard input, a panic.
use std::io::{BufRead, Read, Seek, SeekFrom, Write};
use std::{collections::BTreeMap, env, fs, io, path::Path, time};

fn walk(dir: &Path, found: &mut BTreeMap<String, u64>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            walk(&entry.path(), found)?;
        } else {
            found.insert(entry.path().display().to_string(), entry.metadata()?.len());
        }
    }
    Ok(())
}

fn main() {
    let root = env::args().nth(1).expect("a directory");
    let root = Path::new(&root);
    println!("{:?} {:?}", env::args().skip(2).collect::<Vec<_>>(), env::var("GREETING"));
    fs::create_dir_all(root.join("tree/with/depth")).unwrap();
    for (name, text) in [("a", "one"), ("with/b", "two two"), ("with/depth/ä", "")] {
        fs::write(root.join("tree").join(name), text).unwrap();
    }
    let mut found = BTreeMap::new();
    walk(&root.join("tree"), &mut found).unwrap();
    println!("{:?}", found.values().collect::<Vec<_>>());
    let mut file = fs::OpenOptions::new().read(true).write(true).open(root.join("tree/a")).unwrap();
    file.seek(SeekFrom::End(0)).unwrap();
    file.write_all(b" more").unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    println!("{text} {}", file.metadata().unwrap().len());
    println!("{:?}", fs::rename(root.join("tree/a"), root.join("tree/with/c")).is_ok());
    println!("{:?}", fs::metadata(root.join("tree/a")).unwrap_err().kind());
    println!("{:?}", fs::remove_dir(root.join("tree")).is_err());
    for name in ["with/b", "with/c", "with/depth/ä"] {
        fs::remove_file(root.join("tree").join(name)).unwrap();
    }
    println!("{:?}", fs::remove_dir(root.join("tree/with/depth")));
    for line in io::stdin().lock().lines() {
        println!("in: {}", line.unwrap().to_uppercase());
    }
    let start = time::Instant::now();
    std::thread::sleep(time::Duration::from_millis(10));
    println!("{}", start.elapsed() >= time::Duration::from_millis(10));
    std::process::exit(7);
}
