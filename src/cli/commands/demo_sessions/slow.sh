echo 'fn half() {}' > half.rs
echo 'Working on it ...'
tail -f /dev/null
