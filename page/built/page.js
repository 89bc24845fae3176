document.getElementById("page").textContent = document.title;
