console.log("share")
